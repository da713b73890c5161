import json

import numpy as np
import pytest

from bges.algorithms import make_learner, make_player
from bges.core.learner import State
from bges.core.problem import Problem
from bges.core.work import Evaluate, Perturb, Vary
from bges.errors import InputError
from bges.evolution.search import EXPLORE, IMPROVE, JUDGE

from .conftest import small_config

SEARCH = {"explore": 0.5, "archive": 30, "episodes": 2, "finalists": 3, "patience": 1, "separation": 0.01}


class Local:
    def __init__(self, changes=None):
        changes = {"iterations": 16, "search": SEARCH, **(changes or {})}
        self.player = make_player(Problem.of(small_config(changes)))
        self.search = self.fresh()

    def fresh(self):
        return make_learner(self.player)

    def step(self, order=None):
        context, units = self.search.context, self.search.ask()
        units = units if order is None else [units[i] for i in order.permutation(len(units))]
        return self.search.tell([self.player.play(context, unit) for unit in units])


def everything(state):
    return state.values, {name: np.asarray(array).tobytes() for name, array in state.arrays.items()}, state.policies


@pytest.mark.parametrize(
    "changes", [{}, {"search": {**SEARCH, "climb": 0.0}}, {"env": {"episodes": 2}}, {"policy": {"name": "linear"}}]
)
def test_resuming_anywhere_gives_the_same_bytes(changes):
    """The whole state through JSON and arrays before every iteration, against an unbroken run."""
    if "policy" in changes:
        changes = {"policy": {"name": "linear", "hidden": None}}
    whole, broken = Local(changes), Local(changes)
    while not whole.search.done:
        state = broken.search.state()
        values = json.loads(json.dumps(state.values))
        arrays = {name: np.array(array) for name, array in state.arrays.items()}
        broken.search = broken.fresh()
        broken.search.restore(State(values=values, arrays=arrays, policies=state.policies, functions={}))
        whole.step()
        broken.step()
        assert everything(whole.search.state()) == everything(broken.search.state())


def test_the_order_of_results_changes_nothing(rng):
    one, other = Local(), Local()
    while not one.search.done:
        one.step()
        other.step(order=rng)
    assert everything(one.search.state()) == everything(other.search.state())


def test_the_three_parts_of_a_run():
    made, parts = Local(), []
    while not made.search.done:
        units, phase = made.search.ask(), made.search.phase
        parts.append(phase)
        kinds = {type(unit) for unit in units}
        if phase == EXPLORE and len(parts) > 1:
            assert kinds == {Evaluate, Perturb, Vary}
            assert sum(u.stop - u.start for u in units if not isinstance(u, Evaluate)) == 8
        elif phase == JUDGE:
            assert kinds == {Evaluate}
            assert {unit.episodes for unit in units} == {2}
        elif phase == IMPROVE:
            assert kinds == {Evaluate, Perturb}
        made.step()
    assert parts == [EXPLORE] * 8 + [JUDGE] + [IMPROVE] * 7
    assert len(made.search.archive) == 30
    assert len(made.search.climbers) == 1
    assert not made.search.climbers[0].ends


def test_what_joins_the_archive_is_what_was_played(monkeypatch):
    """Parameters and returns of all episodes, against what the player was given and gave."""
    made, seen = Local({"search": {**SEARCH, "archive": 1000}}), {}
    play = made.player._episodes

    def recorded(context, unit, policy, thetas, seeds, **options):
        outcome = play(context, unit, policy, thetas, seeds, **options)
        for theta, returns in zip(thetas, outcome.returns, strict=True):
            seen.setdefault(theta.tobytes(), []).append(returns.mean())
        return outcome

    monkeypatch.setattr(made.player, "_episodes", recorded)
    while made.search.phase == EXPLORE:
        made.step()
    archive = made.search.archive
    assert len(archive) == sum(len(returns) for returns in seen.values())
    for theta, score in zip(archive.thetas, archive.scores, strict=True):
        assert score in seen[theta.tobytes()]


def test_finalists_are_different_policies():
    made = Local({"search": {**SEARCH, "separation": 0.0, "finalists": 4}})
    while made.search.phase != IMPROVE:
        made.step()
    thetas = {climber.theta.tobytes() for climber in made.search.climbers}
    assert len(thetas) == len(made.search.climbers) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"iterations": 2},
        {"iterations": 6, "search": {**SEARCH, "explore": 0.99}},
        {"es": {"population": 2}},
        {"search": {**SEARCH, "greed": 1000.0}},
        {"search": {**SEARCH, "finalists": 16}},
        {"embedding": {"name": "total_reward"}},
        {"env": {"id": "CartPole-v1", "horizon": None}, "policy": {"action_noise": 0.0}},
    ],
)
def test_small_and_odd_runs_judge_what_they_found(changes):
    made, parts = Local(changes), []
    while not made.search.done:
        parts.append(made.search.phase)
        made.step()
    assert parts.count(JUDGE) == 1
    assert np.isfinite(made.search.best.score)
    assert np.isfinite(made.search.state().arrays["last/theta"]).all()


def test_an_offset_does_not_drown_distances(rng):
    from bges.evolution.archive import PolicyArchive

    points, nothing = rng.normal(size=(30, 2)), np.zeros(30)
    near, far = (PolicyArchive(size=50, neighbors=3) for _ in range(2))
    near.add(np.zeros((30, 1), np.float32), points, nothing, nothing, nothing)
    far.add(np.zeros((30, 1), np.float32), points + 1e5, nothing, nothing, nothing)
    np.testing.assert_allclose(far.novelty(), near.novelty(), rtol=1e-6)


def test_the_best_is_by_evaluation_and_is_kept():
    made, best = Local(), -np.inf
    while not made.search.done:
        report = made.step()
        now = report.metrics["best_score"]
        assert not now < best
        best = now if np.isfinite(now) else best
    state = made.search.state()
    assert state.policies == {"last": "last", "best": "best"}
    assert state.arrays["best/theta"].shape == (made.search.dimension,)


def test_the_way_round_is_found_where_the_gradient_of_the_return_ends_in_the_trap():
    maze = {"env": {"id": "bges_envs:Maze-v0", "horizon": None, "kwargs": {"maze": 1}}}
    maze |= {"policy": {"hidden": [16, 16], "normalize_observations": False, "action_noise": 0.0}, "iterations": 24}
    found = {}
    for algorithm in ("bges", "es"):
        es = {"population": 60, "chunk": 30, "noise_table": 100_000}
        own = {"search": {"explore": 0.4}} if algorithm == "bges" else {"algorithm": "es"}
        player = make_player(Problem.of(small_config({**maze, **own, "es": es})))
        learner = make_learner(player)
        found[algorithm] = 0
        while not learner.done:
            context = learner.context
            results = [player.play(context, unit) for unit in learner.ask()]
            found[algorithm] += sum(int(result.flags["success"].sum()) for result in results)
            learner.tell(results)
    assert found["es"] == 0
    assert found["bges"] > 0


def test_results_of_other_units_are_refused():
    made = Local()
    context, units = made.search.context, made.search.ask()
    with pytest.raises(InputError, match="exactly the results"):
        made.search.tell([made.player.play(context, unit) for unit in units[:-1]])
