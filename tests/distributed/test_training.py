"""Training on a real local Ray: the same bytes whatever happens to the workers."""

import signal
import threading
import time

import numpy as np
import pytest
import ray

from bges.config.run import EVOLUTION, RunConfig
from bges.core.problem import Problem
from bges.distributed import pool as pool_module
from bges.distributed.trainer import run_training
from bges.errors import InputError, Interrupted, RunError
from bges.report.picture import run_picture
from bges.training.local import run_alone
from bges.training.loop import Silent

from .conftest import state_of, tree, whole

pytestmark = pytest.mark.usefixtures("local_ray")

FAULTY = {
    "env": {"id": "tests.distributed.faulty:Faulty", "horizon": 5},
    "policy": {"hidden": [3]},
    "iterations": 3,
    "workers": 2,
    "faults": {"chunk_seconds": 3.0},
}
FAULTS = {
    "raise": "ZeroDivisionError: the user's own mistake",
    "exit": "the worker's process ended while it played",
    "nan": "the environment gave a non-finite reward at step 3",
    "hang": "did not answer within 1 s",
}
CARTPOLE = {"env": {"id": "CartPole-v1", "horizon": None}, "policy": {"action_noise": 0.0}}
QUADRUPED = {
    "env": {"id": "bges_envs:DeceptiveQuadruped-v0", "horizon": 8, "kwargs": {"observe_contacts": False}},
    "embedding": {"name": "reward_to_go"},
}


def train(path, changes, **kwargs):
    return run_training(RunConfig.parse(tree(changes)), path, **kwargs)


@pytest.mark.parametrize("task", [{}, QUADRUPED, {"algorithm": "trpo"}], ids=["point", "quadruped", "trpo"])
def test_one_two_three_and_eight_workers_give_the_same_bytes(task, tmp_path):
    states = [state_of(train(tmp_path / str(n), {**task, "workers": n})) for n in (1, 2, 3, 8)]
    assert states[0] == states[1] == states[2] == states[3] == whole(task)


@pytest.mark.parametrize(
    "method",
    [
        {"algorithm": "es"},
        {"algorithm": "nsres"},
        {"novelty": {"schedule": "explore_then_settle"}},
        {"algorithm": "pg"},
        {"algorithm": "bgpg"},
        {"algorithm": "bgpg", "pg": {"embedding": "trajectories", "dual": "adam"}},
        {"algorithm": "noisynet_trpo"},
        {"algorithm": "particles"},
        {"algorithm": "bgpg", **CARTPOLE},
    ],
)
def test_other_methods_too(method, tmp_path):
    method = {**method, "iterations": 6}
    assert state_of(train(tmp_path / "run", {**method, "workers": 2})) == whole(method)


@pytest.mark.parametrize("algorithm", ["bges", "trpo"])
def test_thirty_percent_of_the_workers_killed_at_random(algorithm, tmp_path, monkeypatch):
    chance = np.random.default_rng(0)
    killed = []
    harvest = pool_module.WorkerPool._harvest

    def deadly(self):
        for slot in self._slots:
            if slot.ready and slot.queue and chance.random() < 0.03:
                killed.append(slot)
                ray.kill(slot.actor)
        return harvest(self)

    monkeypatch.setattr(pool_module.WorkerPool, "_harvest", deadly)
    method = {"algorithm": algorithm, **({"pg": {"chunk": 1}} if algorithm == "trpo" else {})}
    run = train(tmp_path / "run", {**method, "workers": 4, "faults": {"attempts": 20}})
    assert len(killed) >= 2
    assert state_of(run) == whole(method)
    assert sum(run.metrics()["lost_chunks"].to_pylist()) >= 1


@pytest.mark.parametrize(
    ("algorithm", "fault"), [*(("bges", fault) for fault in FAULTS), ("trpo", "exit"), ("trpo", "nan")]
)
def test_a_fault_that_happens_once_costs_its_chunk_only(algorithm, fault, tmp_path):
    sound = {**FAULTY, "algorithm": algorithm}
    changes = {**sound, "env": {**FAULTY["env"], "kwargs": {"fault": fault, "marker": str(tmp_path / "marker")}}}
    run = train(tmp_path / "run", changes)
    assert (tmp_path / "marker").exists()
    assert state_of(run) == whole(sound)
    assert sum(run.metrics()["lost_chunks"].to_pylist()) == 1


@pytest.mark.parametrize(
    ("algorithm", "fault", "words"), [*(("bges", *fault) for fault in FAULTS.items()), ("trpo", "nan", FAULTS["nan"])]
)
def test_a_fault_that_always_happens_stops_the_run_with_its_reason(algorithm, fault, words, tmp_path):
    changes = {**FAULTY, "algorithm": algorithm, "faults": {"chunk_seconds": 1.0}}
    changes = {**changes, "env": {**FAULTY["env"], "kwargs": {"fault": fault}}}
    with pytest.raises(RunError, match=r"failed 3 times") as caught:
        train(tmp_path / "run", changes)
    assert words in str(caught.value)
    if fault == "raise":
        assert "faulty.py" in str(caught.value)
    assert (tmp_path / "run" / "checkpoints" / "000000" / "SHA256SUMS").exists()


def test_a_chunk_that_failed_later_leaves_a_checkpoint_of_what_was_finished(tmp_path, monkeypatch):
    lose = pool_module.WorkerPool._send

    def broken(self, slot, task):
        if task.unit.iteration == 4:
            raise RunError("broken")
        lose(self, slot, task)

    monkeypatch.setattr(pool_module.WorkerPool, "_send", broken)
    with pytest.raises(RunError, match="broken"):
        train(tmp_path / "run", {"workers": 2})
    monkeypatch.undo()
    run = train(tmp_path / "run", {"workers": 2}, resume=True)
    assert state_of(run) == whole()
    assert run.metrics()["iteration"].to_pylist() == list(range(10))


def test_an_update_that_is_not_finite_stops_the_run_with_a_checkpoint_and_its_term(tmp_path, monkeypatch):
    from bges.gradient import trpo

    step, calls = trpo.trpo_step, []

    def broken(*arguments):
        calls.append(arguments)
        found = step(*arguments)
        return found._replace(terms={"natural gradient": np.nan}) if len(calls) == 4 else found

    monkeypatch.setattr(trpo, "trpo_step", broken)
    changes = {"algorithm": "trpo", "workers": 2}
    with pytest.raises(RunError, match="iteration 3: the natural gradient became NaN or infinite"):
        train(tmp_path / "run", changes)
    assert (tmp_path / "run" / "checkpoints" / "000003" / "SHA256SUMS").exists()
    run = train(tmp_path / "run", changes, resume=True)
    assert state_of(run) == whole(changes)
    assert run.metrics()["iteration"].to_pylist() == list(range(10))


def test_iterations_without_a_finished_episode_are_recorded(tmp_path):
    """Slots of 20 steps and episodes of 30: there is no return and no behaviour to report."""
    run = train(tmp_path / "run", {"algorithm": "trpo", "iterations": 3, "env": {"horizon": 30}})
    assert run.metrics()["episodes"].to_pylist() == [0] * 3
    assert np.isnan(run.metrics()["return_mean"].to_numpy()).all()
    for name in ("score", "value_loss"):
        assert np.isfinite(run.metrics()[name].to_numpy()).all()
    with pytest.raises(InputError, match="has no recorded behaviours"):
        run.behaviors()
    run_picture(run, tmp_path / "picture.png")


def test_the_worker_count_changes_while_running(tmp_path):
    from bges.runs.directory import Run

    counts = []

    class Watch(Silent):
        def begin(self, path, config, strategy, notes):
            self.path = path

        def update(self, row):
            counts.append(row["workers"])
            if row["iteration"] in (2, 60):
                Run(self.path).request_workers(3 if row["iteration"] == 2 else 1)
            time.sleep(0.02)

        def end(self):
            pass

    run = train(tmp_path / "run", {"workers": 2, "iterations": 120}, progress=Watch())
    assert counts[0] == 2
    assert 3 in counts
    assert counts[-1] == 1
    assert state_of(run) == whole({"iterations": 120})


def test_a_module_that_only_the_driver_has_reaches_the_workers(tmp_path, monkeypatch):
    """Environment, embedding and cost in a module that no worker can import."""
    (tmp_path / "own_parts.py").write_text(
        """
import importlib.util
import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Line(gymnasium.Env):
    observation_space = Box(-np.inf, np.inf, (1,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x]), {}

    def step(self, action):
        self.x += float(action[0])
        return np.array([self.x]), -abs(self.x - 3), False, False, {"missing": helper() is None}


def helper():
    return importlib.util.find_spec("own_parts")


gymnasium.register("OwnLine-v0", entry_point="own_parts:Line", max_episode_steps=6)


def where(trajectories):
    return trajectories.final_observations * 2


where.needs = ()


def cost(x, y):
    return np.abs(x[:, None, :] - y[None, :, :]).sum(axis=2)
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    for env in ("own_parts:OwnLine-v0", "own_parts:Line"):
        changes = {
            "env": {"id": env, "horizon": 6},
            "embedding": {"name": "own_parts:where"},
            "novelty": {"cost": "own_parts:cost"},
            "workers": 2,
            "iterations": 4,
        }
        run = train(tmp_path / env.replace(":", "-"), changes)
        assert run.metrics()["population_missing"].to_pylist() == [1.0] * 4
        again = train(tmp_path / env.replace(":", "-"), changes, resume=True)
        assert state_of(again) == state_of(run)


def test_two_runs_in_one_directory_are_refused(tmp_path):
    errors = []

    class Second(Silent):
        def update(self, row):
            if row["iteration"] == 1:
                thread = threading.Thread(target=self.intrude)
                thread.start()
                thread.join()

        def intrude(self):
            for resume in (True, False):
                try:
                    train(tmp_path / "run", {"workers": 1}, resume=resume)
                except InputError as error:
                    errors.append(str(error))

        def end(self):
            pass

    train(tmp_path / "run", {"workers": 1}, progress=Second())
    assert len(errors) == 2
    assert "is in use by another run" in errors[0]
    assert "already holds a run" in errors[1]


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    notes = []

    class Listen(Silent):
        def begin(self, path, config, strategy, problems):
            notes.extend(problems)

    config = {"workers": 2, "checkpoint": {"every": 3}}
    expected = state_of(train(tmp_path / "run", config))
    arrays = tmp_path / "run" / "checkpoints" / "000010" / "arrays.npz"
    content = bytearray(arrays.read_bytes())
    content[100] ^= 4
    arrays.write_bytes(content)
    run = train(tmp_path / "run", config, resume=True, progress=Listen())
    assert "arrays.npz is damaged" in notes[0]
    assert state_of(run) == expected
    assert run.metrics()["iteration"].to_pylist() == list(range(10))
    assert sorted(set(run.behaviors()["iteration"].to_pylist())) == list(range(10))
    assert len(run.behaviors()) == 80


def test_resuming_with_another_configuration_is_refused(tmp_path):
    train(tmp_path / "run", {"workers": 2, "iterations": 2})
    with pytest.raises(InputError, match=r"made with es.sigma = 0.02, not 0.5"):
        train(tmp_path / "run", {"iterations": 2, "es": {"sigma": 0.5}}, resume=True)
    longer = train(tmp_path / "run", {"iterations": 5, "workers": 1}, resume=True)
    assert longer.metrics()["iteration"].to_pylist() == list(range(5))
    with pytest.raises(InputError, match="holds no run to resume"):
        train(tmp_path / "none", {}, resume=True)


@pytest.mark.parametrize("algorithm", ["bges", "bgpg"])
def test_the_run_directory_holds_what_it_promises(algorithm, tmp_path):
    from bges.api import load_policy

    run = train(tmp_path / "run", {"algorithm": algorithm, "workers": 2})
    table = run.metrics()
    promised = {
        "iteration", "env_steps", "wall_time", "return_mean", "return_max", "return_std", "score", "success_rate",
        "novelty_mean", "wd", "beta", "theta_norm", "grad_norm", "seconds_rollout", "seconds_scoring",
        "seconds_update", "seconds_waiting", "lost_chunks", "workers", "bytes_per_behavior",
    }  # fmt: skip
    assert promised <= set(table.column_names)
    assert len(table) == 10
    behaviors = run.behaviors()
    assert behaviors.column_names == ["iteration", "index", "sign", "return", "novelty", "embedding"]
    assert behaviors.schema.field("embedding").type.list_size == 6
    assert list((tmp_path / "run" / "tb").iterdir())
    for which in ("best", "last"):
        policy = load_policy(tmp_path / "run", which)
        assert policy(np.zeros(6)).shape == (2,)
        assert policy(np.zeros((4, 6))).shape == (4, 2)
    assert load_policy(tmp_path / "run", "last").moments.count > 0
    state = whole({"algorithm": algorithm})
    places = {"last": "members/0", "best": "best"} if algorithm in EVOLUTION else {"last": "last/0", "best": "best/0"}
    for which, name in places.items():
        theta = np.frombuffer(state[f"{name}/theta"]).astype(np.float32)
        assert load_policy(tmp_path / "run", which).theta.tobytes() == theta.tobytes()


@pytest.mark.parametrize("algorithm", ["bges", "bgpg"])
def test_a_run_in_one_process_gives_the_same_bytes_and_resumes(algorithm, tmp_path):
    expected = whole({"algorithm": algorithm})
    problem = Problem.of(RunConfig.parse(tree({"algorithm": algorithm})))
    assert state_of(run_alone(problem, tmp_path / "alone")) == expected
    stopping = Stopping(4)
    with pytest.raises(Interrupted):
        run_alone(problem, tmp_path / "stopped", progress=stopping)
    assert state_of(run_alone(problem, tmp_path / "stopped", resume=True)) == expected


class Stopping(Silent):
    """Asks for an end after an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def update(self, row):
        if row["iteration"] == self.iteration:
            signal.raise_signal(signal.SIGINT)
