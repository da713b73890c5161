"""A cluster of this machine from its start to its end, by the command: real raylets, one of which is killed."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bges.errors import InputError
from bges.runs.config import load_config
from bges.runs.directory import Run
from tests.evolution.conftest import SMALL, Local, merged, thetas_of

from .sockets import family, listening

BGES = str(Path(sysconfig.get_path("scripts")) / "bges")
SECONDS = 900
NAME = f"test-{os.getpid()}"
FILE = f"cluster_name: {NAME}\nprovider: {{type: raylets}}\nnodes: [1, 1, 1]\n"
ITERATIONS = 60


def run_config(folder):
    paced = {"name": "paced:final", "kwargs": {"flag": str(folder / "fast")}}
    changes = {"iterations": ITERATIONS, "embedding": paced, "workers": "auto", "checkpoint": {"every": 5}}
    return merged(SMALL, changes)


class Story:
    """A folder to give commands in, and what has been seen there."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        (folder / "cluster.yaml").write_text(FILE)
        (folder / "run.yaml").write_text(json.dumps(run_config(folder)))
        shutil.copy(Path(__file__).with_name("paced.py"), folder)

    def bges(self, *words):
        return subprocess.run(
            [BGES, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=SECONDS
        )

    def state(self):
        return json.loads((self.folder / "state" / "bges" / "clusters" / f"{NAME}.json").read_text())

    def submit(self):
        words = [BGES, "cluster", "submit", "cluster.yaml", "run.yaml", "--out", "runs/first"]
        log = (self.folder / "log").open("w")
        return subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=log, stderr=log)

    def rows(self):
        try:
            return Run(self.folder / "runs" / "first").metrics().to_pylist()
        except InputError:
            return []

    def wait(self, process, condition):
        """Until a row of the metrics meets the condition."""
        deadline = time.monotonic() + SECONDS
        while not any(condition(row) for row in self.rows()):
            assert process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    made = Story(tmp_path_factory.mktemp("cluster"))
    done = made.bges("cluster", "up", "cluster.yaml")
    try:
        assert done.returncode == 0, done.stderr
        made.said_up = done.stdout
        yield made
    finally:
        made.bges("cluster", "down", "cluster.yaml")


def test_it_listens_on_loopback_only_and_its_token_is_secret(story):
    state = story.state()
    pids = family(process["pid"] for process in state["processes"])
    assert len(pids) > 6
    assert len(listening(pids)) > 0
    assert all(address.is_loopback for address in listening(pids))
    token = Path(state["folder"]) / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert stat.S_IMODE(token.parent.stat().st_mode) == 0o700
    assert len(token.read_text()) == 64
    assert token.read_text() not in story.said_up
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{state['dashboard']}/api/jobs/", timeout=60)
    assert refused.value.code == 401


def test_a_second_one_of_that_name_is_refused(story):
    done = story.bges("cluster", "up", "cluster.yaml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"cluster '{NAME}' is up already" in done.stderr


@pytest.fixture(scope="module")
def run(story):
    """Scaled down and up while it goes on, then a node is killed."""
    process = story.submit()
    try:
        story.wait(process, lambda row: row["workers"] == 3)
        assert story.bges("scale", "runs/first", "--workers", "1").returncode == 0
        story.wait(process, lambda row: row["workers"] == 1)
        assert story.bges("scale", "runs/first", "--workers", "3", "--cluster", "cluster.yaml").returncode == 0
        scaled = len(story.rows())
        story.wait(process, lambda row: row["iteration"] > scaled and row["workers"] == 3)
        story.screen = story.bges("cluster", "status", "cluster.yaml").stdout
        os.kill(story.state()["processes"][2]["pid"], signal.SIGKILL)
        killed = time.monotonic()
        (story.folder / "fast").touch()
        assert process.wait(SECONDS) == 0, (story.folder / "log").read_text()
        story.seconds_after_loss = time.monotonic() - killed
    finally:
        process.kill()
        process.wait()
    return Run(story.folder / "runs" / "first")


def test_the_numbers_are_those_of_a_run_without_ray(story, run, monkeypatch):
    monkeypatch.syspath_prepend(str(story.folder))
    made = Local(load_config(story.folder / "run.yaml"))
    while not made.strategy.done:
        made.step()
    checkpoint, _ = run.checkpoints.load_newest()
    assert checkpoint.iteration == ITERATIONS
    assert checkpoint.arrays["member0/theta"].tobytes() == thetas_of(made.strategy)


def test_the_run_was_scaled_and_told_how_it_went(story, run):
    assert {1, 3} <= set(run.metrics()["workers"].to_pylist())
    said = (story.folder / "log").read_text()
    assert f"iteration {ITERATIONS}/{ITERATIONS}  score " in said
    assert "Traceback" not in said
    assert "job_manager" not in said


def test_the_screen_shows_nodes_and_runs(story, run):
    assert story.screen.startswith("3 nodes, 3 CPUs, 1 runs going on\n")
    assert story.screen.count("127.0.0.1") == 3
    assert str(story.folder / "runs" / "first") in story.screen
    assert " steps/s  3 workers" in story.screen
    later = story.bges("cluster", "status", "cluster.yaml").stdout
    assert later.startswith("2 nodes, 2 CPUs, 0 runs going on\n")
    assert "succeeded" in later


def test_down_ends_what_was_started_and_leaves_nothing(story, run):
    state = story.state()
    pids = family(process["pid"] for process in state["processes"])
    done = story.bges("cluster", "down", "cluster.yaml")
    assert (done.returncode, done.stdout) == (0, f"cluster '{NAME}' is down\n")
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not Path(state["folder"]).exists()
    again = story.bges("cluster", "down", "cluster.yaml")
    assert (again.returncode, again.stderr) == (2, f"bges: cluster '{NAME}' is not up: bges cluster up\n")
