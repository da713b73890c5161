"""Stop and resume: the same bytes as a run that was never stopped."""

import os
import signal
import subprocess
import sysconfig
import threading
import time
from itertools import product
from pathlib import Path

import pytest
import yaml

from bges.config.gradient import METHODS
from bges.config.run import RunConfig
from bges.distributed.trainer import run_training
from bges.errors import Interrupted
from bges.runs.directory import Run
from bges.training.loop import Silent

from .conftest import state_of, tree, whole

BGES = str(Path(sysconfig.get_path("scripts")) / "bges")
SECONDS = 120


class StopAt(Silent):
    """Sends this process a signal, as often as asked, once an iteration is finished."""

    def __init__(self, iteration, number, times=1):
        self.iteration, self.number, self.times = iteration, number, times

    def update(self, row):
        if row["iteration"] == self.iteration:
            for _ in range(self.times):
                os.kill(os.getpid(), self.number)


@pytest.mark.parametrize(
    ("algorithm", "schedule"),
    [
        *product(["bges", "es", "nsres"], ["constant", "linear", "adaptive", "explore_then_settle"]),
        *product(METHODS, [None]),
    ],
)
def test_every_method_and_schedule_goes_on_where_it_was_stopped(algorithm, schedule, tmp_path, local_ray):
    number = signal.SIGTERM if schedule in ("linear", "adaptive") else signal.SIGINT
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    changes = {"algorithm": algorithm, "workers": 1}
    if schedule is not None:
        changes["novelty"] = {"schedule": schedule}
    config = RunConfig.parse(tree(changes))
    with pytest.raises(Interrupted):
        run_training(config, tmp_path, progress=StopAt(3, number))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert Run(tmp_path).checkpoints.iterations() == [4]
    run = run_training(config, tmp_path, resume=True)
    assert state_of(run) == whole(changes)
    assert run.metrics()["iteration"].to_pylist() == list(range(10))


def test_a_second_signal_ends_the_run_at_once_and_frees_its_directory(tmp_path, local_ray):
    changes = {"workers": 1, "checkpoint": {"every": 2}}
    config = RunConfig.parse(tree(changes))
    with pytest.raises(KeyboardInterrupt):
        run_training(config, tmp_path, progress=StopAt(4, signal.SIGINT, times=2))
    assert Run(tmp_path).checkpoints.iterations() == [2, 4]
    assert state_of(run_training(config, tmp_path, resume=True)) == whole(changes)


def test_a_run_in_a_thread_leaves_signals_to_the_main_one(tmp_path, local_ray):
    received = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    runs = []
    config = RunConfig.parse(tree({"workers": 1}))

    def work():
        runs.append(run_training(config, tmp_path, progress=StopAt(3, signal.SIGTERM)))

    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(SECONDS)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]
    assert state_of(runs[0]) == whole()


def test_sigterm_while_ray_starts(tmp_path):
    command = [BGES, "train", "point", "--out", "run", "--no-progress"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + SECONDS
        while not (tmp_path / "run" / "config.yaml").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert said.splitlines()[-1] == "bges: interrupted; resume it with --resume"
    assert "Traceback" not in said


@pytest.mark.parametrize("method", [{"novelty": {"schedule": "linear"}}, {"algorithm": "bgpg"}], ids=["bges", "bgpg"])
def test_the_command_is_stopped_killed_and_resumed(method, tmp_path):
    """Ctrl-C, which a terminal sends to Ray's processes too; SIGTERM to the driver; SIGKILL; then to the end."""
    iterations = 200 if "algorithm" not in method else 60
    changes = {**method, "iterations": iterations, "checkpoint": {"every": 10}, "workers": 2}
    (tmp_path / "long.yaml").write_text(yaml.safe_dump(tree(changes)))
    last = tmp_path / "run" / "checkpoints" / "last"
    finished = [0]
    for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
        resume = ["--resume"] if finished[-1] else []
        command = [BGES, "train", "long.yaml", "--out", "run", "--no-progress", *resume]
        process = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True, text=True
        )
        try:
            deadline = time.monotonic() + SECONDS
            while not last.is_symlink() or int(last.readlink().name) < finished[-1] + 10:
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            (os.killpg if stop == signal.SIGINT else os.kill)(process.pid, stop)
            _, said = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == code
        if code == 130:
            assert said == "bges: interrupted; resume it with --resume\n"
        finished.append(Run(tmp_path / "run").checkpoints.iterations()[-1])
        assert finished[-2] < finished[-1] < iterations
    ended = subprocess.run(
        [BGES, "train", "run", "--resume", "--no-progress"], cwd=tmp_path, timeout=SECONDS, capture_output=True
    )
    assert ended.returncode == 0, ended.stderr
    run = Run(tmp_path / "run")
    assert state_of(run) == whole(changes)
    assert run.metrics()["iteration"].to_pylist() == list(range(iterations))
    assert sorted(set(run.behaviors()["iteration"].to_pylist())) == list(range(iterations))
    # Eight perturbations of an episode each, or four slots of one whole episode each.
    assert len(run.behaviors()) == iterations * (8 if method.get("algorithm") is None else 4)
