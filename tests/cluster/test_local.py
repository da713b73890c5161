"""A cluster of this machine from its start to its end, by the command: real raylets, one of which is killed."""

import contextlib
import json
import os
import re
import signal
import stat
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bges.distributed.gauges import GAUGES
from bges.runs.directory import Run

from .sockets import family, listening
from .story import OUT, SECONDS, Story

NAME = f"test-{os.getpid()}"
FILE = f"cluster_name: {NAME}\nprovider: {{type: raylets}}\nnodes: [1, 1, 1]\n"
ITERATIONS = 60
DISCOVERY = "prom_metrics_service_discovery.json"
GAUGE = r'^ray_bges_(\w+)\{.*run="first".*\} (\S+)$'
STOPPED = "runs/stopped"


class LocalStory(Story):
    def __init__(self, folder):
        often = {"XDG_STATE_HOME": str(folder / "state"), "RAY_metrics_report_interval_ms": "1000"}
        super().__init__(folder, often, iterations=ITERATIONS, pace=0.2)
        (folder / "cluster.yaml").write_text(FILE)

    def state(self):
        return json.loads((self.folder / "state" / "bges" / "clusters" / f"{NAME}.json").read_text())

    def gauges(self):
        """What Ray exports for Prometheus of the run, by the gauges' names."""
        [places] = json.loads((Path(self.state()["folder"]) / "ray" / DISCOVERY).read_text())
        found = {}
        for place in places["targets"]:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{place}/metrics", timeout=60) as page:
                lines = re.findall(GAUGE, page.read().decode(), re.MULTILINE)
                found |= {name: float(value) for name, value in lines}
        return found


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    made = LocalStory(tmp_path_factory.mktemp("cluster"))
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
    process = story.start("cluster", "submit", "cluster.yaml")
    try:
        story.wait(process, lambda row: row["workers"] == 3)
        assert story.bges("scale", OUT, "--workers", "1").returncode == 0
        story.wait(process, lambda row: row["workers"] == 1)
        assert story.bges("scale", OUT, "--workers", "3", "--cluster", "cluster.yaml").returncode == 0
        story.wait(process, lambda row: row["workers"] == 3)
        done = story.bges("cluster", "status", "cluster.yaml")
        assert done.returncode == 0, done.stderr
        story.screen = done.stdout
        os.kill(story.state()["processes"][2]["pid"], signal.SIGKILL)
        story.until(process, lambda: story.gauges().get("lost_chunks", 0) > 0)
        story.exported = story.gauges()
        story.hurry()
        assert process.wait(SECONDS) == 0, story.said()
    finally:
        process.kill()
        process.wait()
    return Run(story.folder / OUT)


def test_the_numbers_are_those_of_a_run_without_ray(story, run, monkeypatch):
    assert story.theta() == story.theta_alone(monkeypatch)


def test_the_run_was_scaled_and_told_how_it_went(story, run):
    assert {1, 3} <= set(run.metrics()["workers"].to_pylist())
    said = story.said()
    assert f"iteration {ITERATIONS}/{ITERATIONS}  score " in said
    assert "Traceback" not in said
    assert "job_manager" not in said


def test_the_screen_shows_nodes_and_runs(story, run):
    assert story.screen.startswith("3 nodes, 3 CPUs, 1 running\n")
    assert story.screen.count("127.0.0.1") == 3
    assert str(story.folder / OUT) in story.screen
    assert " steps/s  3 workers" in story.screen
    later = story.bges("cluster", "status", "cluster.yaml").stdout
    assert later.startswith("2 nodes, 2 CPUs, 0 running\n")
    assert "succeeded" in later


def test_gauges_have_the_values_of_the_metrics(story, run):
    assert story.exported.keys() == GAUGES.keys()
    rows = run.metrics().to_pylist()
    # They may be read while they are set: each is of this or of a neighbouring iteration.
    last = int(story.exported["iteration"])
    near = rows[max(last - 3, 0) : last + 3]
    for name in ("score", "best_score", "workers", "steps_per_second"):
        assert story.exported[name] in [pytest.approx(row[name]) for row in near]
    assert 0 < story.exported["lost_chunks"] <= sum(row["lost_chunks"] for row in rows)


def test_ctrl_c_stops_the_run_after_a_checkpoint(story, run):
    (story.folder / "fast").unlink()
    process = story.start("cluster", "submit", "cluster.yaml", out=STOPPED)
    try:
        story.wait(process, lambda row: row["iteration"] >= 1, STOPPED)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130, story.said()
    finally:
        process.kill()
        process.wait()
    assert story.said().splitlines()[-1] == "bges: interrupted; resume it with --resume"
    assert story.said().count("starting workers") == 1
    stopped = Run(story.folder / STOPPED)
    assert not stopped.is_running()
    checkpoint, _ = stopped.checkpoints.load_newest()
    assert 1 < checkpoint.iteration < ITERATIONS
    assert checkpoint.iteration == len(story.rows(STOPPED))


def test_no_wait_leaves_the_run_to_itself(story, run):
    """And it goes on where Ctrl-C had stopped it, to the same numbers."""
    words = ["cluster", "submit", "cluster.yaml", "run.yaml", "--out", STOPPED, "--resume", "--no-wait"]
    done = story.bges(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "iteration" not in done.stdout
    assert len(story.rows(STOPPED)) < ITERATIONS
    story.hurry()
    deadline = time.monotonic() + SECONDS
    while Run(story.folder / STOPPED).checkpoints.iterations()[-1] < ITERATIONS:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert story.theta(STOPPED) == story.theta()


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
    assert (again.returncode, again.stderr) == (2, f"bges: cluster '{NAME}' is not up: start it with bges cluster up\n")
