import json

import numpy as np
import pytest

from bges.core.learner import State
from bges.core.work import Evaluate, Perturb, Played
from bges.errors import InputError
from bges.evolution.noise import noise_table
from bges.evolution.perturbations import Perturbations
from bges.evolution.step import top_directions, weights_of
from bges.evolution.strategy import Strategy

from .conftest import small_config, thetas_of

METHODS = {
    "es": {"algorithm": "es"},
    "bges": {"algorithm": "bges"},
    "bges sinkhorn": {"novelty": {"solver": "sinkhorn", "updates": 50}},
    "bges adam": {"novelty": {"solver": "adam"}},
    "hellinger": {"novelty": {"name": "hellinger"}},
    "kl": {"novelty": {"name": "kl"}},
    "jensen_shannon": {"novelty": {"name": "jensen_shannon"}},
    "total_variation": {"novelty": {"name": "total_variation"}},
    "l2": {"novelty": {"name": "l2"}},
    "random": {"novelty": {"name": "random"}},
    "nsres": {"algorithm": "nsres", "es": {"shaping": "ranks"}},
    "nsres alone": {"algorithm": "nsres", "nsres": {"members": 1}},
    "linear": {"novelty": {"schedule": "linear"}},
    "adaptive": {"novelty": {"schedule": "adaptive", "patience": 1}},
    "settle": {"novelty": {"schedule": "explore_then_settle", "settle_at": 0.5}},
    "settled nsres": {"algorithm": "nsres", "novelty": {"schedule": "explore_then_settle", "settle_at": 0.5}},
    "settle from peaks": {"novelty": {"schedule": "explore_then_settle", "settle_at": 0.5, "settle_from": "peak"}},
    "finalists": {
        "iterations": 12,
        "novelty": {"schedule": "explore_then_settle", "settle_at": 0.3, "finalists": 2, "separation": 0.01},
        "evaluation": {"candidates": True},
    },
    "finalists of nsres": {
        "iterations": 16,
        "algorithm": "nsres",
        "novelty": {"schedule": "explore_then_settle", "settle_at": 0.25, "finalists": 3, "separation": 0.0},
    },
    "candidates": {
        "novelty": {"fit_to": "base"},
        "evaluation": {"candidates": True},
    },
    "sgd": {"es": {"optimizer": "sgd", "weight_decay": 0.1, "shaping": "none"}},
    "plain, top": {"es": {"antithetic": False, "top": 3, "shaping": "ranks"}},
    "episodes": {"env": {"episodes": 2}, "embedding": {"name": "reward_to_go"}},
    "off-policy": {"embedding": {"name": "probe_actions", "kwargs": {"states": 5}}},
}


@pytest.mark.parametrize("method", METHODS)
def test_resuming_anywhere_gives_the_same_bytes(method, local):
    """The whole state through JSON and arrays before every iteration, against an unbroken run."""
    whole, broken = local(METHODS[method]), local(METHODS[method])
    while not whole.strategy.done:
        state = broken.strategy.state()
        values, policies, functions = json.loads(json.dumps([state.values, state.policies, state.functions]))
        copies = {name: np.array(array) for name, array in state.arrays.items()}
        broken.strategy = broken.fresh()
        broken.strategy.restore(State(values=values, arrays=copies, policies=policies, functions=functions))
        whole.step()
        broken.step()
        assert everything(whole.strategy.state()) == everything(broken.strategy.state())


def everything(state):
    arrays = {name: np.asarray(array).tobytes() for name, array in state.arrays.items()}
    return state.values, arrays, state.policies, state.functions


@pytest.mark.parametrize("method", ["es", "bges", "nsres"])
def test_the_order_of_results_changes_nothing(method, local, rng):
    one, other = local(METHODS[method]), local(METHODS[method])
    for _ in range(5):
        one.step()
        other.step(order=rng)
    assert thetas_of(one.strategy) == thetas_of(other.strategy)


def test_different_seeds_differ(local):
    one, other = local({"seed": 0}), local({"seed": 1})
    for _ in range(2):
        one.step()
        other.step()
    assert thetas_of(one.strategy) != thetas_of(other.strategy)


def linear_strategy(population, slope, **es):
    """A strategy whose reward is slope . theta, told without any environment."""
    config = small_config(
        {
            "algorithm": "es",
            "es": {
                "population": population,
                "shaping": "none",
                "optimizer": "sgd",
                "momentum": 0.0,
                "sigma": 0.1,
                **es,
            },
        }
    )
    return Strategy(config, np.zeros(len(slope)), noise_table(0, 20_000))


def tell_returns(strategy, reward):
    config = strategy.config
    drawn = Perturbations.of(config, strategy.iteration, strategy.dimension)
    thetas = drawn.thetas(strategy.theta, config.es.sigma, strategy.table, 0, config.es.population)
    results = []
    for unit in strategy.ask():
        perturbed = isinstance(unit, Perturb)
        rows = thetas[unit.start : unit.stop] if perturbed else np.stack([strategy.theta] * unit.episodes)
        returns = np.array([reward(row) for row in rows], float).reshape((-1, 1) if perturbed else (1, -1))
        embeddings = np.zeros((*returns.shape, 2), np.float32)
        results.append(
            Played(unit=unit, returns=returns, peaks=returns, late=returns, embeddings=embeddings, steps=len(rows))
        )
    return strategy.tell(results)


def test_the_gradient_of_a_linear_reward_is_its_slope(rng):
    """E[(w . eps) eps] = w: the estimate converges to the slope as one over the root of the population."""
    slope = rng.normal(size=6)
    strategy = linear_strategy(6000, slope, learning_rate=1.0, chunk=100)
    tell_returns(strategy, lambda theta: float(slope @ theta))
    np.testing.assert_allclose(strategy.population.present.theta, slope, atol=4 * np.linalg.norm(slope) / np.sqrt(3000))


def test_the_gradient_equals_the_formula_written_out(rng):
    slope = rng.normal(size=6)
    strategy = linear_strategy(10, slope, learning_rate=1.0)
    drawn = Perturbations.of(strategy.config, 0, 6)
    noise = np.stack([strategy.table[o : o + 6] for o in drawn.offsets]).astype(float) * drawn.signs[:, None]
    rewards = np.float32(0.1) * noise @ slope
    tell_returns(strategy, lambda theta: float(slope @ theta))
    np.testing.assert_allclose(strategy.population.present.theta, rewards @ noise / (10 * 0.1), rtol=1e-4, atol=1e-6)


def test_chunks_do_not_change_the_gradient(rng):
    slope = rng.normal(size=6)
    thetas = []
    for chunk in (1, 3, 10):
        strategy = linear_strategy(10, slope, learning_rate=1.0, chunk=chunk)
        tell_returns(strategy, lambda theta: float(slope @ theta))
        thetas.append(strategy.population.present.theta.tobytes())
    assert len(set(thetas)) == 1


def test_evolution_climbs_a_quadratic():
    target = np.array([1.0, -2.0, 0.5, 3.0])
    config = small_config(
        {"algorithm": "es", "iterations": 300, "es": {"population": 20, "learning_rate": 0.05, "sigma": 0.1}}
    )
    strategy = Strategy(config, np.zeros(4), noise_table(0, 20_000))
    while not strategy.done:
        tell_returns(strategy, lambda theta: -float(np.sum((theta - target) ** 2)))
    np.testing.assert_allclose(strategy.theta, target, atol=0.15)


def test_top_directions_are_those_whose_better_sign_weighs_most():
    weights = np.array([[1.0, -1.0], [5.0, 0.0], [2.0, 2.0]])
    assert top_directions(weights, 2).tolist() == [False, True, True]


def test_only_the_top_directions_enter_the_gradient(rng):
    slope = rng.normal(size=6)
    strategy = linear_strategy(10, slope, learning_rate=1.0, top=2)
    drawn = Perturbations.of(strategy.config, 0, 6)
    noise = np.stack([strategy.table[o : o + 6] for o in drawn.offsets]).astype(float) * drawn.signs[:, None]
    rewards = np.float32(0.1) * noise @ slope
    chosen = np.argsort(-np.abs(rewards[::2]))[:2]
    rows = np.concatenate([2 * chosen, 2 * chosen + 1])
    tell_returns(strategy, lambda theta: float(slope @ theta))
    np.testing.assert_allclose(
        strategy.population.present.theta, rewards[rows] @ noise[rows] / (4 * 0.1), rtol=1e-4, atol=1e-6
    )


def test_weights_mix_return_and_novelty():
    config = small_config({"novelty": {"beta": -0.3}, "es": {"shaping": "none"}})
    returns, novelties = np.array([1.0, 2.0]), np.array([10.0, 30.0])
    np.testing.assert_allclose(weights_of(config, returns, novelties, -0.3), 0.7 * returns - 0.3 * novelties)
    np.testing.assert_allclose(weights_of(config, returns, None, -0.3), returns)
    printed = small_config({"novelty": {"beta": -0.3, "paper_weights": True}, "es": {"shaping": "none"}})
    np.testing.assert_allclose(weights_of(printed, returns, novelties, -0.3), 1.3 * returns - 0.3 * novelties)


def test_settling_restarts_from_the_best_policy_with_a_fresh_optimiser(local):
    made = local({"novelty": {"schedule": "explore_then_settle", "settle_at": 0.5, "settle_rate": 0.1}})
    for _ in range(5):
        made.step()
    strategy = made.strategy
    assert strategy.iteration == 5
    assert strategy.population.present.theta.tobytes() == strategy.best.theta.tobytes()
    assert strategy.population.present.optimizer.state()["steps"] == 0
    assert strategy.population.present.optimizer.rate == pytest.approx(0.1 * strategy.config.es.learning_rate)
    assert made.step().metrics["beta"] == 0.0


def test_nothing_is_fitted_once_novelty_weighs_nothing(local, monkeypatch):
    made = local({"novelty": {"schedule": "explore_then_settle", "settle_at": 0.5}})
    fitted = []
    score = made.strategy.novelty.score
    monkeypatch.setattr(made.strategy.novelty, "score", lambda t, *rest: (fitted.append(t), score(t, *rest))[1])
    rows = [made.step().metrics for _ in range(10)]
    assert fitted == list(range(5))
    assert [np.isfinite(row["novelty_mean"]) for row in rows] == [False] + [True] * 4 + [False] * 5
    assert [np.isfinite(row["wd"]) for row in rows] == [False] + [True] * 4 + [False] * 5


def test_settling_from_peaks_goes_on_from_the_policy_with_the_best_steps(local):
    novelty = {"schedule": "explore_then_settle", "settle_at": 0.5, "settle_from": "peak"}
    made = local({"iterations": 8, "novelty": novelty})
    strategy, offered = made.strategy, []
    while strategy.iteration < 4:
        theta = strategy.theta.tobytes()
        results = [made.evaluator.play(strategy.context, unit) for unit in strategy.ask()]
        # The score falls while the best steps rise.
        for result in results:
            result.returns[:] -= 1000.0 * strategy.iteration
            result.peaks[:] += 10.0 * (strategy.iteration == 2)
        offered.append((theta, results[0].peaks.mean()))
        strategy.tell(results)
    assert offered[2][1] == max(peak for _, peak in offered)
    assert strategy.theta.tobytes() == offered[2][0]
    assert strategy.best.iteration == 0


def test_finalists_take_turns_until_the_best_of_them_goes_on(local):
    novelty = {"schedule": "explore_then_settle", "settle_at": 0.4, "finalists": 3, "separation": 0.0}
    made = local({"iterations": 20, "novelty": novelty})
    strategy = made.strategy
    for _ in range(8):
        made.step()
    best = sorted(strategy._settling._elites.policies, key=lambda found: -found.score)
    assert [member.theta.tobytes() for member in strategy.population.members] == [
        found.theta.tobytes() for found in best
    ]
    turns = []
    while len(strategy.population.members) > 1:
        turns.append(strategy.population.current)
        last = strategy.population.members[2].theta.tobytes()
        evaluated = {strategy.population.members[index].theta.tobytes() for index in strategy._evaluated()}
        finalists = list(strategy.population.members)
        made.step()
    assert turns[:6] == [0, 0, 1, 1, 2, 2]
    # One more turn, in which the last finalist is evaluated after its last step.
    assert len(turns) == 7
    assert last in evaluated
    assert strategy.iteration == 15
    assert strategy.population.present is max(finalists, key=lambda member: member.score)
    left = strategy.population.present.theta.copy()
    made.step()
    assert strategy.population.current == 0
    assert not np.array_equal(strategy.population.present.theta, left)


def test_nsres_evaluates_everyone_first_and_then_who_changed(local):
    made = local({"algorithm": "nsres"})
    units = made.strategy.ask()
    assert sum(isinstance(unit, Evaluate) for unit in units) == 3
    chosen = set()
    for _ in range(9):
        made.step()
        evaluated = [unit for unit in made.strategy.ask() if isinstance(unit, Evaluate)]
        population = made.strategy.population
        assert len(evaluated) == (1 if population.current == population.updated else 2)
        chosen.add(population.current)
    assert len(chosen) > 1
    # Each member's first behaviour and that of each change, once: the last change is not evaluated yet.
    assert len(made.strategy.novelty.archive) == 3 + 9 - 1


def test_es_is_evaluated_only_when_it_is_due(local):
    made = local({"algorithm": "es", "evaluation": {"every": 4}})
    due = []
    while not made.strategy.done:
        due.append(any(isinstance(unit, Evaluate) for unit in made.strategy.ask()))
        made.step()
    assert [t for t, evaluated in enumerate(due) if evaluated] == [0, 4, 8, 9]


def test_a_perturbed_policy_that_did_better_is_evaluated_and_may_become_the_best(local):
    made = local({"algorithm": "es", "evaluation": {"candidates": True, "every": 5}})
    strategy = made.strategy
    tried = taken = 0
    while not strategy.done:
        best = strategy.best
        context, units = strategy.context, strategy.ask()
        candidate = context.thetas[-1] if strategy._candidate is not None else None
        report = strategy.tell([made.evaluator.play(context, unit) for unit in units])
        if candidate is None:
            continue
        tried += 1
        assert len(context.thetas) == 2
        assert sum(isinstance(unit, Evaluate) and unit.policy == 1 for unit in units) == 1
        if strategy.best is not best and strategy.best.theta.astype(np.float32).tobytes() == candidate.tobytes():
            taken += 1
            assert strategy.best.score > best.score
            assert report.improved
            assert report.metrics["best_score"] == strategy.best.score
    assert tried >= 3
    assert taken >= 1


def test_a_candidate_is_what_was_played(local):
    """Its parameters are those of the perturbation with the highest return, to the bit."""
    made = local({"evaluation": {"candidates": True}})
    strategy = made.strategy
    drawn = Perturbations.of(strategy.config, 0, strategy.dimension)
    thetas = drawn.thetas(strategy.theta, strategy.config.es.sigma, strategy.table, 0, 8)
    report = made.step()
    assert report.returns.max() > strategy.best.score
    assert strategy.context.thetas[-1].tobytes() == thetas[np.argmax(report.returns)].tobytes()


def test_metrics_say_what_happened(local):
    made = local()
    first, second = made.step(), made.step()
    assert np.isnan(first.metrics["novelty_mean"])
    assert np.isfinite(second.metrics["novelty_mean"])
    assert np.isfinite(second.metrics["wd"])
    assert second.metrics["env_steps"] == 2 * 12 * (8 + 4)
    assert second.metrics["return_mean"] == pytest.approx(second.returns.mean())
    assert second.embeddings.shape == (8, 1, 6)
    assert {"score", "best_score", "success_rate", "past_wall", "beta", "theta_norm", "grad_norm"} <= set(
        second.metrics
    )


def test_wrong_results_and_members_are_refused(local):
    made = local()
    context, units = made.strategy.context, made.strategy.ask()
    results = [made.evaluator.play(context, unit) for unit in units]
    with pytest.raises(InputError, match="exactly the results"):
        made.strategy.tell(results[:-1])
    made.strategy.tell(results)
    with pytest.raises(InputError, match="exactly the results"):
        made.strategy.tell(results)
    with pytest.raises(InputError, match="this configuration is for Search"):
        Strategy(small_config({"search": {"explore": 0.5}}), np.zeros(5))
    with pytest.raises(InputError, match="thetas has 2 rows"):
        Strategy(small_config(), np.zeros((2, 5)))
