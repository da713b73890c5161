"""Ray's own autoscaler starts and ends nodes while a run goes on; they are raylets of this machine, on loopback."""

import json
import os
from pathlib import Path

import pytest

from bges.cluster import raylets
from bges.runs.directory import Run

from .sockets import family, listening
from .story import OUT, Story

NAME = f"autoscaled-{os.getpid()}"
STORE = 100 * 2**20
IDLE_SECONDS = 2
NODE, WORKER = "/raylet/raylet", "ray::RolloutActor"
FAKE = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
# Nodes of one address are told apart by their ids, and there is nothing to do on them by ssh.
BY_ID = {"use_node_id_as_ip": True, "disable_node_updaters": True}
# What the autoscaler wants to find in its file, though the fake provider has no use for it.
UNUSED = {"auth": {}, "docker": {}, "file_mounts": {}, "cluster_synced_files": [], "initialization_commands": []}
UNUSED |= {f"{who}setup_commands": [] for who in ("", "head_", "worker_")}
UNUSED |= {f"{who}_start_ray_commands": [] for who in ("head", "worker")}


class Autoscaled(Story):
    """A head of one CPU; `allow` says how many nodes of one CPU there have to be, and how many may be."""

    def __init__(self, folder):
        self.state, self.file = raylets._planned(NAME), folder / "autoscaler.json"
        super().__init__(folder, self.state.environment, iterations=60, pace=0.5)
        self.allow(0, 0)
        words = [f"--autoscaling-config={self.file}", "--include-dashboard=false"]
        self.state = raylets._start(self.state, [*raylets._head(self.state, 1, STORE), *words])

    def allow(self, least, most):
        """Change the file, which the autoscaler reads before each of its decisions."""
        node = {"resources": {"CPU": 1, "object_store_memory": STORE}, "node_config": {}}
        types = {"ray.head.default": node | {"max_workers": 0}}
        types |= {"worker": node | {"min_workers": least, "max_workers": most}}
        provider = {"type": "fake_multinode", "gcs_address": self.state.address, **BY_ID}
        tree = {"cluster_name": NAME, "provider": provider, "head_node_type": "ray.head.default", "max_workers": most}
        tree |= {"available_node_types": types, "idle_timeout_minutes": IDLE_SECONDS / 60}
        draft = self.file.with_suffix(".part")
        draft.write_text(json.dumps(tree | UNUSED))
        draft.replace(self.file)

    def pids(self):
        return family(process.pid for process in self.state.processes)

    def count(self, program):
        return sum(program in _command(pid) for pid in self.pids())


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]
    except OSError:
        return ""


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A node is prescribed and forbidden, then asked for and left idle by the run as it is scaled."""
    folder = tmp_path_factory.mktemp("autoscaler")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**FAKE, "XDG_STATE_HOME": str(folder)}.items():
            patch.setenv(name, value)
        made = Autoscaled(folder)
    run = None
    try:
        run = made.start("train", "--address", made.state.address)
        made.wait(run, lambda row: row["workers"] == 1)
        made.allow(1, 1)
        made.wait(run, lambda row: row["workers"] == 2)
        made.addresses = listening(made.pids())
        made.allow(0, 0)
        made.wait(run, lambda row: row["workers"] == 1)
        made.allow(0, 1)
        Run(folder / OUT).request_workers(2)
        made.until(run, lambda: made.count(WORKER) == 2)
        Run(folder / OUT).request_workers(1)
        made.until(run, lambda: made.count(NODE) == 1)
        made.hurry()
        made.code = run.wait(300)
        yield made
    finally:
        if run is not None:
            run.kill()
            run.wait()
        raylets.down(made.state)


def test_it_listens_on_loopback_only(story):
    assert len(story.addresses) > 0
    assert all(address.is_loopback for address in story.addresses)


def test_the_run_follows_the_nodes_and_its_numbers_are_those_of_a_run_without_ray(story, monkeypatch):
    assert story.code == 0, story.said()
    assert "Traceback" not in story.said()
    assert story.theta() == story.theta_alone(monkeypatch)
