import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bges
from bges.algorithms import make_learner, make_player
from bges.behavior import TestFunctions
from bges.config.loading import load_config
from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.errors import InputError
from bges.evolution.members import part
from bges.gradient.networks import Network
from bges.gradient.pairs import Pairs
from bges.gradient.reinforce import WholeEpisodes, reinforce
from bges.gradient.repulsion import compare_goals
from bges.gradient.samples import Rollouts
from bges.report import run_picture, write_report
from bges.runs.scoring import score_table
from bges.training.local import run_alone
from tests.gradient.conftest import same_bytes

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
        results = [self.player.evaluate(context, unit) for unit in learner.ask()]
        return learner.tell(results[::-1] if reverse else results)


@pytest.mark.parametrize("policies", [2, 3])
def test_a_resumed_run_goes_on_byte_for_byte(policies):
    played = Local(**{"repulsion.policies": policies, "policy.normalize_observations": True})
    for _ in range(3):
        played.step()
    values, arrays = played.learner.state()
    again = played.fresh()
    again.restore(json.loads(json.dumps(values)), {name: np.array(array) for name, array in arrays.items()})
    same_bytes(again, played.learner)
    report = played.step()
    played.step(again, reverse=True)
    same_bytes(again, played.learner)
    assert len({one.theta.tobytes() for one in again.members}) == policies
    assert report.embeddings.shape == (6 * policies, 1, 1)
    assert np.isfinite(report.metrics["wd"])


def test_beta_and_rate_go_down_to_zero_after_settling():
    played = Local(iterations=8, **{"repulsion.settle_at": 0.5, "repulsion.beta": 4.0, "repulsion.learning_rate": 0.2})
    betas, rates = [], []
    for _ in range(8):
        betas.append(played.step().metrics["beta"])
        rates.append(played.learner.members[1].optimizer.rate)
    np.testing.assert_allclose(betas, [4, 4, 4, 4, 4, 3, 2, 1])
    np.testing.assert_allclose(rates, np.array(betas) / 20)


def test_scores_are_between_any_two_policies(tmp_path, rng):
    config = load_config("repulsion", SMALL | {"repulsion.policies": 3, "iterations": 3})
    run = run_alone(Problem.of(config), tmp_path / "run")
    points = rng.normal(size=(5, 1))
    pq.write_table(pa.table({"embedding": points.tolist()}), tmp_path / "points.parquet")
    state, _ = run.checkpoints.load_newest()
    scores = {}
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        functions = TestFunctions.from_state(part(state.arrays, f"functions/{i}-{j}"))
        scores[i, j] = score_table(run, tmp_path / "points.parquet", (i, j))["lambda_mu"].to_numpy()
        np.testing.assert_allclose(scores[i, j], functions.score_mu(points))
    assert not np.allclose(scores[0, 1], scores[0, 2])
    np.testing.assert_array_equal(score_table(run, tmp_path / "points.parquet")["lambda_mu"], scores[0, 1])
    with pytest.raises(InputError, match="no test functions between 1 and 0; has: 0-1, 0-2, 1-2"):
        score_table(run, tmp_path / "points.parquet", (1, 0))


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
        asked = [
            (unit.member, slot) for unit in units if unit.kind == "sample" for slot in range(unit.start, unit.stop)
        ]
        assert asked == [(slot // 6, slot) for slot in range(12)]
        metrics = played.step().metrics
        assert np.isfinite(metrics["score"]) == evaluated
        if evaluated:
            assert metrics["score"] == pytest.approx((metrics["score_0"] + metrics["score_1"]) / 2)
            assert metrics["best_score"] == max(one.best.score for one in played.learner.members)
    assert played.learner.done
    assert played.learner.env_steps == 4 * 2 * 6 * 5 + 3 * 2 * 2 * 5


@pytest.mark.parametrize("solver", ["sgd", "sinkhorn"])
@pytest.mark.parametrize("beta", [1.0, -1.0])
def test_following_the_reward_moves_clouds_apart_or_together(rng, solver, beta):
    """Both surrogate rewards, by finite differences at each point, on two fixed clouds: x to the left of y."""
    x, y = rng.normal(-0.5, 0.5, size=(60, 1)), rng.normal(0.5, 0.5, size=(60, 1))
    kwargs = {"step": 1.0, "batch": 16} if solver == "sgd" else {}
    novelty = {"solver": solver, "solver_kwargs": kwargs, "features": 200, "updates": 200}
    pairs = Pairs(RunConfig.parse({"novelty": novelty}), 2)
    assert not np.any(pairs.gains([x, y]))
    pairs.fit([x, y])
    step = 0.05
    slopes = []
    for cloud in range(2):
        moved = [[points + sign * step * (i == cloud) for i, points in enumerate((x, y))] for sign in (1, -1)]
        up, down = (pairs.gains(clouds)[cloud] for clouds in moved)
        slopes.append(beta * (up - down) / (2 * step))
    after_x, after_y = x[:, 0] + 0.1 * slopes[0], y[:, 0] + 0.1 * slopes[1]
    before = y.mean() - x.mean()
    assert (after_y.mean() - after_x.mean() - before) * beta > 0.02
    assert slopes[0].mean() * beta < 0 < slopes[1].mean() * beta


def test_contributions_are_the_terms_of_the_distance(rng):
    x, y = rng.normal(size=(7, 2)), 1 + rng.normal(size=(5, 2))
    functions = TestFunctions(2, features=30)
    functions.fit(x, y)
    of_x, of_y = functions.contributions(x, y)
    f = [
        np.exp(
            functions.score_mu(x)[i] - functions.score_nu(y) - functions.cost(*map(functions.standardized, (x, y)))[i]
        )
        for i in range(7)
    ]
    np.testing.assert_allclose(of_x, functions.score_mu(x) - np.mean(f, axis=1))
    np.testing.assert_allclose(of_y, -functions.score_nu(y) - np.mean(f, axis=0))
    # The means of both hold the last term twice.
    assert of_x.mean() + of_y.mean() + np.mean(f) == pytest.approx(functions.distance(x, y))


def rollouts_of(policy, theta, inputs, actions, rewards, finished):
    shape = rewards.shape
    episodes = int(finished.sum())
    return Rollouts(
        inputs=inputs,
        following=inputs,
        actions=actions,
        rewards=rewards,
        terminated=np.zeros(shape, bool),
        finished=finished,
        ended=finished,
        embeddings=np.arange(episodes, dtype=np.float32)[:, None],
        returns=np.zeros(episodes),
    )


def test_the_gradient_is_that_of_finite_differences(rng):
    """Of Σ A log π written out in numpy, with what follows each step counted by a loop; slot 1 ends early."""
    policy = Local().player.policy
    theta = policy.initial(rng) + 0.3 * rng.standard_normal(policy.num_parameters).astype(np.float32)
    inputs = rng.standard_normal((3, 4, 2)).astype(np.float32)
    actions, rewards, extra = rng.standard_normal((3, 4, 2)), rng.standard_normal((3, 4)), rng.standard_normal(3)
    finished = np.zeros((3, 4), bool)
    finished[[0, 2], 3] = finished[1, 1] = finished[1, 3] = True
    episodes = WholeEpisodes.of(rollouts_of(policy, theta, inputs, actions, rewards, finished))
    assert episodes.embeddings[:, 0].tolist() == [0, 1, 3]
    lengths = [4, 2, 4]
    after = [[sum(rewards[i, s] for s in range(t, n)) + extra[i] for t in range(n)] for i, n in enumerate(lengths)]
    above = {}
    for t in range(4):
        alive = [i for i in range(3) if t < lengths[i]]
        for i in alive:
            above[i, t] = after[i][t] - np.mean([after[k][t] for k in alive])

    def objective(at):
        total, std = 0.0, np.exp(at[-2:].astype(float))
        for (i, t), advantage in above.items():
            x = inputs[i, t].astype(float)
            for depth, (weights, bias) in enumerate(policy.layers(at[None])):
                x = (np.maximum(x, 0) if depth else x) @ weights[0].astype(float) + bias[0]
            total -= advantage * np.sum(0.5 * ((actions[i, t] - x) / std) ** 2 + np.log(std))
        return total / 3

    found = reinforce(Network(policy.layout), theta, episodes, extra)
    wide, expected = theta.astype(np.float64), np.empty(len(theta))
    for k in range(len(theta)):
        nudge = 1e-6 * (np.arange(len(theta)) == k)
        expected[k] = (objective(wide + nudge) - objective(wide - nudge)) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


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


def test_a_run_is_resumed_evaluated_and_drawn(tmp_path):
    settings = SMALL | {"checkpoint.every": 2, "checkpoint.keep_every": 2, "evaluation.every": 1}
    for path, lengths in ((tmp_path / "whole", [4]), (tmp_path / "parts", [2, 4])):
        for again, iterations in enumerate(lengths):
            config = load_config("repulsion", settings | {"iterations": iterations})
            run = run_alone(Problem.of(config), path, resume=again > 0)
    thetas = [
        bges.load_policy(tmp_path / name, which, member=member).theta.tobytes()
        for name in ("whole", "parts")
        for which in ("best", "last")
        for member in (0, 1)
    ]
    assert thetas[:4] == thetas[4:]
    assert len(set(thetas)) == 4
    with pytest.raises(InputError, match="member is 2, expected 0 to 1"):
        run.policy("last", member=2)
    run_picture(run, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    page = write_report([run.path], tmp_path / "report.html", clip=False).read_text()
    assert 'class="frames"' in page
    assert "after 4 iterations" in page
    assert "could not be made" not in page
