"""Nodes and workers that go and come; the nodes are raylets of this machine."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import ray

from bges.config.common import FaultsConfig
from bges.core.work import Perturb, Played, Policies
from bges.distributed import pool as pool_module
from bges.distributed.actor import RolloutActor
from bges.distributed.trainer import run_training
from bges.errors import RunError
from bges.training.loop import Silent
from tests.evolution.conftest import Local, small_config, thetas_of

CHANGES = {"iterations": 40, "workers": "auto"}
STARTED, LOST, NOTICED, GROWN = 5, 10, 20, 30


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Metrics of a run during which a node of three is lost, and later another one joins; its θ; in its own process."""
    path = tmp_path_factory.mktemp("cluster")
    call = f"from {__name__} import child; child({str(path)!r})"
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", call], cwd=root, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads((path / "result.json").read_text())


def child(folder):
    import logging

    from ray.cluster_utils import Cluster

    from bges.distributed import trainer

    trainer.SECONDS_BETWEEN_CHECKS = 0.0
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_timeout_ms": 500}
    quick |= {"health_check_failure_threshold": 2}
    settings = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**settings, "_system_config": quick})
    nodes = [cluster.add_node(**settings) for _ in range(2)]
    ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)

    def wait_for_cpus(number):
        deadline = time.monotonic() + 60
        while ray.cluster_resources().get("CPU") != number:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    pools = []

    class Watched(pool_module.WorkerPool):
        def __init__(self, *args):
            super().__init__(*args)
            pools.append(self)

    pool_module.WorkerPool = Watched

    class Upheaval(Silent):
        def __init__(self):
            self.rows = []

        def update(self, row):
            self.rows.append({name: row[name] for name in ("iteration", "workers", "lost_chunks")})
            if row["iteration"] == STARTED:
                ray.get([slot.starting for slot in pools[0]._slots if not slot.ready], timeout=60)
            if row["iteration"] == LOST:
                cluster.remove_node(nodes[0], allow_graceful=False)
            if row["iteration"] == NOTICED:
                wait_for_cpus(2)
            if row["iteration"] == GROWN:
                cluster.add_node(**settings)
                wait_for_cpus(3)

    upheaval, out = Upheaval(), Path(folder) / "run"
    run = trainer.run_training(small_config(CHANGES), out, address=cluster.address, progress=upheaval)
    checkpoint, _ = run.checkpoints.load_newest()
    result = {"rows": upheaval.rows, "theta": checkpoint.policy("last").theta.tobytes().hex()}
    (Path(folder) / "result.json").write_text(json.dumps(result))
    ray.shutdown()
    cluster.shutdown()


def test_the_numbers_are_those_of_a_run_without_ray(rows):
    made = Local(small_config(CHANGES))
    while not made.strategy.done:
        made.step()
    assert rows["theta"] == thetas_of(made.strategy).hex()


def test_chunks_of_the_lost_node_are_counted_and_played_elsewhere(rows):
    table = rows["rows"]
    assert [row["iteration"] for row in table] == list(range(40))
    assert sum(row["lost_chunks"] for row in table[: LOST + 1]) == 0
    assert sum(row["lost_chunks"] for row in table[LOST + 1 :]) >= 1


def test_workers_follow_the_nodes(rows):
    workers = [row["workers"] for row in rows["rows"]]
    assert workers[: LOST + 1] == [3] * (LOST + 1)
    assert workers[NOTICED + 1 : GROWN + 1] == [2] * (GROWN - NOTICED)
    assert workers[GROWN + 1 :] == [3] * (39 - GROWN)


class Player(RolloutActor):
    """Stands in for a rollout worker: answers after `seconds`; may never start.

    With a `folder` it says there that it is busy, and `doomed` dies at its first chunk once the pool has shrunk.
    """

    def __init__(self, name="", starts=True, seconds=0.0, folder=None, doomed=False):
        self.name, self.starts, self.seconds, self.folder, self.doomed = name, starts, seconds, folder, doomed

    def ready(self):
        time.sleep(0 if self.starts else 600)

    def outcome(self, unit, context):
        if self.folder is not None:
            (self.folder / self.name).touch()
        if self.doomed:
            while not (self.folder / "shrunk").exists():
                time.sleep(0.01)
            os._exit(1)
        time.sleep(self.seconds)
        zero = np.zeros((1, 1))
        return Played(unit=unit, returns=zero, peaks=zero, embeddings=np.zeros((1, 1, 1), np.float32), steps=1)


UNITS = [Perturb(iteration=0, index=i, start=i, stop=i + 1) for i in range(6)]
CONTEXT = Policies(iteration=0, thetas=np.zeros((1, 2), np.float32), moments=(None,))


def make_pool(players, check=lambda: False, say=lambda text: None, **faults):
    made = iter(players)
    actor = ray.remote(num_cpus=0, max_restarts=0)(Player)
    return pool_module.WorkerPool(
        lambda: actor.remote(**next(made, {})), len(players), FaultsConfig.model_validate(faults), check, say
    )


def indices(results):
    return sorted(result.unit.index for result in results)


def test_a_smaller_pool_keeps_the_workers_that_have_started(local_ray):
    pool = make_pool([{}, {}, {"starts": False}, {"starts": False}], start_seconds=20)
    try:
        assert indices(pool.run(UNITS, CONTEXT)) == list(range(6))
        pool.resize(2)
        assert pool.workers == 2
        started = time.monotonic()
        assert indices(pool.run(UNITS, CONTEXT)) == list(range(6))
        assert time.monotonic() - started < 20
    finally:
        pool.close()


def test_a_retiring_worker_that_dies_leaves_its_chunks_to_the_others(tmp_path, local_ray):
    def check():
        if not (tmp_path / "shrunk").exists() and (tmp_path / "old").exists() and (tmp_path / "young").exists():
            pool.resize(1)
            (tmp_path / "shrunk").touch()
        return False

    players = [{"name": "old", "seconds": 0.3}, {"name": "young", "doomed": True}]
    pool = make_pool([{**player, "folder": tmp_path} for player in players], check)
    try:
        assert indices(pool.run(UNITS, CONTEXT)) == list(range(6))
        assert (pool.workers, pool.lost_chunks, pool.lost_workers) == (1, 1, 1)
    finally:
        pool.close()


def test_no_worker_that_starts_is_said_so(local_ray):
    pool = make_pool([{"starts": False}], start_seconds=1)
    try:
        with pytest.raises(RunError, match="no worker could be started in 1 s: does the cluster have free CPUs"):
            pool.run(UNITS, CONTEXT)
    finally:
        pool.close()


def test_many_workers_lost_while_they_start_do_not_end_the_run(tmp_path, monkeypatch, local_ray):
    """As when a node with many of them goes: more than `faults.attempts` at once, but none of them thrice."""
    killed = []
    harvest = pool_module.WorkerPool._harvest

    def deadly(self):
        if not killed:
            killed.extend(self._slots)
            for slot in killed:
                ray.kill(slot.actor)
        return harvest(self)

    monkeypatch.setattr(pool_module.WorkerPool, "_harvest", deadly)
    changes = {"workers": 5, "iterations": 3}
    run = run_training(small_config(changes), tmp_path)
    made = Local(small_config(changes))
    while not made.strategy.done:
        made.step()
    assert len(killed) == 5
    checkpoint, _ = run.checkpoints.load_newest()
    assert checkpoint.policy("last").theta.tobytes() == thetas_of(made.strategy)
