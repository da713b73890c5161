import numpy as np
import pytest

from bges.core.work import Evaluate, Sample
from bges.distributed.actor import pack
from bges.errors import InputError, RunError
from tests.gradient.conftest import same_bytes, stored

POINT = {"id": "bges_envs:MultiGoal-v0", "horizon": 8}
METHODS = {
    "pg": ("pg", {}, {}),
    "trpo": ("trpo", {}, {}),
    "noisynet": ("noisynet_trpo", {}, {}),
    "bgpg": ("bgpg", {}, {}),
    "features": ("bgpg", {"dual": "adam", "embedding": "state_actions"}, {}),
    "paper": (
        "bgpg",
        {
            "target": None,
            "points": "concatenated",
            "standardize": False,
            "common_noise": False,
            "pairs": "product",
            "debias": False,
            "gamma": 0.1,
            "width": 0.1,
            "dual": "sgd",
            "dual_rate": 0.01,
            "optimizer": "sgd",
            "beta": 1.0,
        },
        {},
    ),
    "trajectories": ("bgpg", {"embedding": "trajectories", "dual": "adam"}, {"env": POINT}),
    "particles": ("particles", {}, {}),
    "discrete": ("bgpg", {}, {"env": {"id": "CartPole-v1"}}),
}


@pytest.mark.parametrize("case", list(METHODS))
def test_a_resumed_run_goes_on_byte_for_byte(local, case):
    method, settings, tree = METHODS[case]
    played = local(method, settings, **tree)
    for _ in range(2):
        played.step()
    state = played.learner.state()
    again = played.fresh()
    again.restore(stored(state))
    same_bytes(again, played.learner)
    played.step()
    results = played.results(again)
    again.tell(results[::-1])
    same_bytes(again, played.learner)
    assert again.iteration == 3
    assert again.state().arrays["last/0/theta"].tobytes() != state.arrays["last/0/theta"].tobytes()


def test_two_runs_are_the_same_and_another_seed_is_not(local):
    one, two, other = (local("bgpg", {}, seed=seed) for seed in (5, 5, 6))
    for played in (one, two, other):
        played.step()
    same_bytes(one.learner, two.learner)
    assert one.learner.context.thetas.tobytes() != other.learner.context.thetas.tobytes()


def test_chunks_change_nothing(local):
    one, other = (local("trpo", {"chunk": chunk}) for chunk in (1, 4))
    for played in (one, other):
        for _ in range(2):
            played.step()
    same_bytes(one.learner, other.learner)


def test_ask_names_every_environment_once(local):
    played = local(settings={"num_envs": 8, "chunk": 3}, evaluation={"every": 2, "episodes": 3}, iterations=4)
    learner = played.learner
    for iteration, evaluated in enumerate([True, False, True, True]):
        units = learner.ask()
        assert units == learner.ask()
        assert [unit.index for unit in units] == list(range(len(units)))
        assert [(u.policy, u.episodes) for u in units if isinstance(u, Evaluate)] == [(0, 3)] * evaluated
        assert [env for u in units if isinstance(u, Sample) for env in range(u.start, u.stop)] == list(range(8))
        report = played.step()
        assert np.isfinite(report.metrics["score"]) == evaluated
        assert report.iteration == iteration
    assert learner.done
    assert learner.env_steps == 4 * 80 + 3 * 3 * 5


def test_tell_wants_all_results(local):
    played = local()
    with pytest.raises(InputError, match="iteration 0's units"):
        played.learner.tell(played.results()[1:])


def test_the_report_says_what_was_played(local):
    played = local("bgpg")
    report = played.step()
    assert report.metrics["episodes"] == len(report.returns) == 16
    assert report.embeddings.shape == (16, 1, 1)
    assert report.metrics["return_mean"] == pytest.approx(report.returns.mean())
    assert report.metrics["return_max"] == report.returns.max()
    for name in ("kl", "wd", "beta", "surrogate", "action_std", "theta_norm", "grad_norm"):
        assert np.isfinite(report.metrics[name]), name
    best = played.learner.best
    assert best.score == report.metrics["score"] == report.metrics["best_score"]
    assert report.improved
    state = played.learner.state()
    assert state.policies == {"last": "last/0", "best": "best/0"}
    assert state.functions == {}


def test_what_the_next_steps_do_not_need_is_learned_after_them(local):
    """Values are fitted when the next units can be played; whoever concludes, and when, changes nothing."""
    one, other = local("trpo"), local("trpo")
    for played in (one, other):
        played.step()
    before = one.learner.context
    values = one.learner._value.parameters.copy()
    assert np.isfinite(one.learner.conclude()["value_loss"])
    assert one.learner.conclude() == {}
    assert one.learner._value.parameters.tobytes() != values.tobytes()
    assert pack(one.learner.context) == pack(before)
    for played in (one, other):
        played.step()
    same_bytes(one.learner, other.learner)


def test_a_value_function_that_fails_is_named_and_left_as_it_was(local):
    played = local("trpo", {"value_rate": 1e30})
    played.step()
    values = played.learner._value.parameters.copy()
    with pytest.raises(RunError, match="iteration 0: the value loss became NaN or infinite"):
        played.learner.conclude()
    assert played.learner._value.parameters.tobytes() == values.tobytes()
    assert np.isfinite(played.learner.state().arrays["value/parameters"]).all()


@pytest.mark.parametrize("method", ["trpo", "bgpg"])
def test_what_is_not_finite_is_named_and_nothing_changes(local, method):
    played = local(method, env={"id": "tests.gradient.toys:Broken", "horizon": 5})
    before = played.fresh()
    with pytest.raises(RunError, match=r"iteration 0: the advantages became NaN or infinite"):
        played.step()
    same_bytes(played.learner, before)


def test_the_step_of_an_update_that_went_wrong_is_named(local):
    played = local("pg", {"learning_rate": 1e30})
    with pytest.raises(RunError, match=r"iteration 0: the \w+ became NaN or infinite in step \d of the update"):
        played.step()


def test_particles_need_continuous_actions(local):
    with pytest.raises(InputError, match="particles"):
        local("particles", env={"id": "CartPole-v1"})


@pytest.mark.parametrize(
    ("method", "seeds"), [("trpo", (0, 1, 2)), ("bgpg", (0, 1, 2)), ("noisynet_trpo", (0,)), ("particles", (0,))]
)
def test_a_simple_task_is_learned(local, method, seeds):
    ascent = {"updates": 20, "minibatch": 80, "learning_rate": 0.02}
    own = {
        "trpo": {"max_kl": 0.03},
        "noisynet_trpo": {"max_kl": 0.03, "noise_scale": 0.1},
        "bgpg": ascent | {"beta": 1.0, "target": 0.05},
        "particles": ascent | {"beta": 1.0, "radius": 0.05},
    }
    settings = {"batch": 320, "num_envs": 8, "initial_std": 0.5, "value_minibatch": 80} | own[method]
    for seed in seeds:
        played = local(method, settings, seed=seed, iterations=20, evaluation={"episodes": 20})
        reports = [played.step() for _ in range(20)]
        first, last = (np.mean([report.metrics["score"] for report in part]) for part in (reports[:1], reports[-3:]))
        # Never moving costs 5 (0.09 + 0.25 / 3) = 0.87 an episode.
        assert first < -0.5
        assert last > -0.2
        assert max(report.metrics["kl"] for report in reports) < 0.2


@pytest.mark.parametrize("method", ["trpo", "bgpg"])
def test_discrete_actions_are_learned(local, method):
    settings = {"batch": 1000, "value_epochs": 5, "value_minibatch": 100}
    settings |= {"updates": 100, "minibatch": 250} if method == "bgpg" else {}
    evaluation = {"every": 100, "episodes": 1}
    played = local(method, settings, env={"id": "CartPole-v1"}, iterations=8, evaluation=evaluation)
    lengths = [played.step().metrics["length_mean"] for _ in range(8)]
    assert lengths[0] < 30
    assert lengths[-1] > 90
