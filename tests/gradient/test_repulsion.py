import numpy as np
import pytest

from bges.algorithms import make_learner, make_player
from bges.behavior import TestFunctions
from bges.config.loading import load_config
from bges.core.problem import Problem
from bges.core.state import part
from bges.core.work import Sample
from bges.errors import InputError
from bges.gradient.repulsion import compare_goals
from tests.gradient.conftest import same_bytes, stored

SMALL = {"repulsion.trajectories": 6, "repulsion.chunk": 4, "env.horizon": 5, "novelty.features": 40}
SMALL |= {"novelty.updates": 10, "evaluation.episodes": 2, "evaluation.every": 2}


class Local:
    def __init__(self, **changes):
        self.player = make_player(Problem.of(load_config("repulsion", SMALL | changes)))
        self.learner = self.fresh()

    def fresh(self):
        return make_learner(self.player)

    def step(self, learner=None, reverse=False):
        learner = learner or self.learner
        context = learner.context
        results = [self.player.play(context, unit) for unit in learner.ask()]
        return learner.tell(results[::-1] if reverse else results)


@pytest.mark.parametrize("policies", [2, 3])
def test_a_resumed_run_goes_on_byte_for_byte(policies):
    played = Local(**{"repulsion.policies": policies, "policy.normalize_observations": True})
    for _ in range(3):
        played.step()
    state = played.learner.state()
    again = played.fresh()
    again.restore(stored(state))
    same_bytes(again, played.learner)
    report = played.step()
    played.step(again, reverse=True)
    same_bytes(again, played.learner)
    assert len({policy.theta.tobytes() for policy in again.policies}) == policies
    assert report.embeddings.shape == (6 * policies, 1, 1)
    assert np.isfinite(report.metrics["wd"])


def test_the_state_names_every_policy_and_the_functions_between_any_two():
    played = Local(**{"repulsion.policies": 3})
    played.step()
    state = played.learner.state()
    several = {f"{which}/{i}" for which in ("last", "best") for i in range(3)}
    assert state.policies.keys() == {"last", "best"} | several
    for name, place in state.policies.items():
        # Of the policies side by side, the first is the last and the one that scored most is the best.
        expected = played.learner.policies[0].theta if name == "last" else None
        expected = played.learner.best.theta if name == "best" else expected
        theta = state.arrays[f"{place}/theta"]
        assert theta.shape == (played.learner.dimension,)
        assert expected is None or theta.tobytes() == expected.tobytes()
    assert state.functions.keys() == {"0-1", "0-2", "1-2"}
    for name, (i, j) in zip(("0-1", "0-2", "1-2"), [(0, 1), (0, 2), (1, 2)], strict=True):
        stored_functions = TestFunctions.from_state(part(state.arrays, state.functions[name]))
        points = np.linspace(-1, 1, 5)[:, None]
        np.testing.assert_array_equal(
            stored_functions.score_mu(points), played.learner.pairs.functions[i, j].score_mu(points)
        )


@pytest.mark.parametrize(
    ("novelty", "steps"), [({}, 100), ({"novelty.solver": "adam"}, 300), ({"novelty.updates": 7}, 7)]
)
def test_test_functions_take_the_solvers_own_number_of_steps_unless_one_is_given(monkeypatch, novelty, steps):
    fits, fit = [], TestFunctions.fit
    monkeypatch.setattr(TestFunctions, "fit", lambda *args: fits.append(fit(*args)) or fits[-1])
    played = Local(**{"novelty.updates": None, "novelty.solver_kwargs": {}, **novelty})
    report = played.step()
    assert [found.steps for found in fits] == [steps]
    assert report.metrics["converged"] == float(fits[0].converged)


def test_beta_and_rate_go_down_to_zero_after_settling():
    played = Local(iterations=8, **{"repulsion.settle_at": 0.5, "repulsion.beta": 4.0, "repulsion.learning_rate": 0.2})
    betas, rates = [], []
    for _ in range(8):
        betas.append(played.step().metrics["beta"])
        rates.append(played.learner.optimizers[1].rate)
    np.testing.assert_allclose(betas, [4, 4, 4, 4, 4, 3, 2, 1])
    np.testing.assert_allclose(rates, np.array(betas) / 20)


def test_chunks_change_nothing():
    one, other = Local(), Local(**{"repulsion.chunk": 6})
    for played in (one, other):
        for _ in range(2):
            played.step()
    same_bytes(one.learner, other.learner)


def test_every_trajectory_is_asked_for_once_and_scores_are_told():
    played = Local(**{"iterations": 4})
    for evaluated in (True, False, True, True):
        units = played.learner.ask()
        asked = [(u.policy, env) for u in units if isinstance(u, Sample) for env in range(u.start, u.stop)]
        assert asked == [(env // 6, env) for env in range(12)]
        metrics = played.step().metrics
        assert np.isfinite(metrics["score"]) == evaluated
        if evaluated:
            assert metrics["score"] == pytest.approx((metrics["score_0"] + metrics["score_1"]) / 2)
            assert metrics["best_score"] == max(best.score for best in played.learner.bests)
    assert played.learner.done
    assert played.learner.env_steps == 4 * 2 * 6 * 5 + 3 * 2 * 2 * 5


def test_goals_are_compared_by_where_most_episodes_end():
    left, right = {"goal_left": 0.9, "goal_right": 0.1}, {"goal_left": 0.0, "goal_right": 1.0}
    nowhere = {"goal_left": 0.5, "goal_right": 0.5}
    assert compare_goals([left, right]) == {"different_goals": 1.0, "same_goal": 0.0}
    assert compare_goals([left, left]) == {"different_goals": 0.0, "same_goal": 1.0}
    assert compare_goals([left, nowhere]) == {"different_goals": 0.0, "same_goal": 0.0}
    assert compare_goals([left, left, right])["different_goals"] == pytest.approx(2 / 3)
    assert compare_goals([{"success_rate": 1.0}] * 2) == {}


def test_one_policy_repels_nobody():
    with pytest.raises(InputError, match=r"repulsion\.policies is 1"):
        load_config("repulsion", {"repulsion.policies": 1})
