"""Disks that are full, and runs killed in the middle of writing."""

import resource
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml

from bges.config.loading import load_config
from bges.runs.directory import Run
from tests.evolution.conftest import Local, small_config, small_tree, thetas_of

BGES = str(Path(sysconfig.get_path("scripts")) / "bges")
ROOT = Path(__file__).parents[2]
SECONDS = 120


def wait_for(condition, process):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


def check_readable(path):
    """Every file that has its name is whole; the newest finished iteration."""
    for file in path.rglob("*.parquet"):
        pq.read_table(file)
    load_config(path / "config.yaml")
    checkpoints = Run(path).checkpoints
    loaded = [checkpoints.load(iteration) for iteration in checkpoints.iterations()]
    for name in ("last", "best"):
        assert (path / "checkpoints" / name).resolve().name.isdigit()
    return loaded[-1]


def whole(changes, iterations):
    made = Local(small_config(changes))
    for _ in range(iterations):
        made.step()
    return thetas_of(made.strategy)


def test_a_full_disk_stops_the_run_and_it_goes_on_when_there_is_space(tmp_path):
    """A limit on the size of the driver's files stands for the disk: the kernel refuses to write beyond it."""
    changes = {"iterations": 200, "checkpoint": {"every": 20}, "workers": 1}
    (tmp_path / "long.yaml").write_text(yaml.safe_dump(small_tree(changes)))
    command = [BGES, "train", "long.yaml", "--out", "run", "--no-progress"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        wait_for((tmp_path / "run" / "checkpoints" / "last").exists, process)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, 1000))
        _, said = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    # Ray says so too, of its own log.
    assert said.splitlines()[-1] == "bges: run cannot be written: File too large; what was written before is intact"
    assert "Traceback" not in said
    finished = check_readable(tmp_path / "run").iteration
    assert finished % 20 == 0
    assert 20 <= finished < 200
    resumed = subprocess.run([*command, "--resume"], cwd=tmp_path, timeout=SECONDS, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    newest = check_readable(tmp_path / "run")
    assert newest.policy("last").theta.tobytes() == whole(changes, 200)
    assert Run(tmp_path / "run").metrics()["iteration"].to_pylist() == list(range(200))


def child(folder):
    """Make a run without Ray, and write everything after every iteration, until killed."""
    from bges.runs.directory import RunWriter

    path = Path(folder)
    made = Local(small_config({"iterations": 100_000, "novelty": {"schedule": "adaptive"}}))
    resume = (path / "config.yaml").exists()
    writer = RunWriter(path, made.evaluator.config, resume=resume)
    writer.begin(made.strategy)
    while True:
        report = made.step()
        writer.add(report, report.metrics)
        writer.checkpoint(made.strategy)


def test_killed_at_any_moment_every_file_can_be_read(tmp_path):
    chance = np.random.default_rng(0)
    call = f"from {__name__} import child; child({str(tmp_path / 'run')!r})"
    link, goal = tmp_path / "run" / "checkpoints" / "last", 0

    def reached():
        return link.is_symlink() and int(link.readlink().name) >= goal

    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", call], cwd=ROOT)
        try:
            goal += int(chance.integers(3, 12))
            wait_for(reached, process)
            time.sleep(chance.random() * 0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        newest = check_readable(tmp_path / "run")
        assert newest.iteration >= goal
        goal = newest.iteration
    expected = whole({"novelty": {"schedule": "adaptive"}}, newest.iteration)
    assert newest.policy("last").theta.tobytes() == expected
    iterations = Run(tmp_path / "run").metrics()["iteration"].to_pylist()
    assert iterations == list(range(len(iterations)))
    assert len(iterations) >= newest.iteration
