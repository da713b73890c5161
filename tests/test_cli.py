"""The `bges` command as users have it: the installed script, in a process of its own, in an empty directory."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bges.config.loading import load_config
from bges.runs.directory import Run

BGES = str(Path(sysconfig.get_path("scripts")) / "bges")
SMALL = ["--set", "es.population=8", "--set", "es.chunk=3", "--set", "env.horizon=12", "--set", "es.noise_table=20000"]
SMALL += ["--set", "novelty.schedule=constant", "--set", "novelty.features=50", "--workers", "2"]
SECONDS = 120


def bges(folder, *arguments, seconds=SECONDS):
    return subprocess.run([BGES, *arguments], cwd=folder, capture_output=True, text=True, timeout=seconds)


def arrays_of(path):
    checkpoint, _ = Run(path).checkpoints.load_newest()
    return {name: array.tobytes() for name, array in checkpoint.state.arrays.items()}


def wait_for(condition, process, seconds=SECONDS):
    """Until `condition()` holds, while `process` lives."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def trained(folder):
    """A short run in its default place, and what the command said."""
    done = bges(folder, "train", "point", "--seed", "3", "--iterations", "3", *SMALL)
    assert done.returncode == 0, done.stderr
    (path,) = (folder / "runs").iterdir()
    return path, done


def test_training_says_how_it_goes_and_where_it_went(trained, folder):
    path, done = trained
    assert path.name.startswith("point-3-2")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bges on bges_envs:DeceptivePoint-v0, seed 3")
    assert any(line.startswith("iteration 3/3  score ") and "2 workers  0 lost" in line for line in lines)
    for what in ("metrics.parquet", "checkpoints", "picture.png", "report.html"):
        assert any(str(path.relative_to(folder) / what) in line for line in lines)
        assert (path / what).exists()
    assert done.stderr == ""
    config = Run(path).config
    assert (config.seed, config.iterations, config.workers, config.es.population) == (3, 3, 2, 8)


def test_the_stored_configuration_repeats_the_run(trained, folder):
    path, _ = trained
    again = bges(folder, "train", str(path / "config.yaml"), "--workers", "1", "--out", "again", "--no-progress")
    assert again.returncode == 0, again.stderr
    assert arrays_of(folder / "again") == arrays_of(path)
    assert "iteration" not in again.stdout
    assert again.stdout.startswith("score ")


def test_resume_with_and_without_out(trained, folder):
    path, _ = trained
    before = arrays_of(path)
    settings = ["--seed", "3", *SMALL, "--resume"]
    finished = bges(folder, "train", "point", *settings, "--iterations", "3", "--out", str(path))
    assert finished.returncode == 0, finished.stderr
    assert arrays_of(path) == before
    longer = bges(folder, "train", "point", *settings, "--iterations", "5", "--no-progress")
    assert longer.returncode == 0, longer.stderr
    table = Run(path).metrics()
    assert table["iteration"].to_pylist() == list(range(5))
    assert np.all(np.diff(table["wall_time"].to_numpy()) > 0)
    assert arrays_of(path) != before


def test_a_finished_run_whose_metrics_are_damaged_is_still_a_run(trained, folder, tmp_path):
    path = shutil.copytree(trained[0], tmp_path / "copy", symlinks=True)
    (path / "metrics.parquet").write_bytes(b"not a table")
    resumed = bges(tmp_path, "train", "copy", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.startswith("copy/metrics.parquet cannot be read: ")
    assert "renamed to damaged-metrics.parquet" in resumed.stdout
    assert resumed.stdout.endswith("run          copy\n")


def test_eval_as_text_and_as_json(trained, folder):
    path, _ = trained
    text = bges(folder, "eval", str(path), "--episodes", "3", "--policy", "last")
    assert text.returncode == 0
    assert text.stdout.startswith(f"last policy of {path}, 3 episodes, seed 0\nreturn ")
    results = [bges(folder, "eval", str(path), "--episodes", "3", "--seed", seed, "--json") for seed in ("1", "1", "2")]
    one, same, other = (json.loads(result.stdout) for result in results)
    assert one == same
    assert (one["policy"], one["episodes"], one["seed"], other["seed"]) == ("best", 3, 1, 2)
    assert one["return_min"] <= one["return_mean"] <= one["return_max"]
    assert one["length_mean"] == 12


def test_eval_films_and_report_draws(trained, folder):
    path, _ = trained
    filmed = bges(folder, "eval", str(path), "--episodes", "1", "--video", "film.gif")
    assert filmed.returncode == 0, filmed.stderr
    assert filmed.stdout.endswith("video     film.gif\n")
    assert (folder / "film.gif").read_bytes().startswith(b"GIF89a")
    told = bges(folder, "eval", str(path), "--episodes", "1", "--video", "film.gif", "--json")
    assert json.loads(told.stdout)["video"] == "film.gif"
    for out, arguments in ((path / "report.html", []), (folder / "mine.html", ["--out", str(folder / "mine.html")])):
        out.unlink(missing_ok=True)
        done = bges(folder, "report", str(path), *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}\n", "")
        assert out.read_text().startswith("<!doctype html>")


def test_presets_are_listed_and_a_printed_one_trains_as_the_preset_does(trained, folder, tmp_path):
    listed = bges(folder, "presets")
    assert listed.returncode == 0
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert "point" in names
    printed = bges(folder, "presets", "point")
    (tmp_path / "mine.yaml").write_text(printed.stdout)
    settings = ["--iterations", "2", *SMALL, "--out", "run", "--no-progress"]
    mine = bges(tmp_path, "train", "mine.yaml", *settings)
    assert mine.returncode == 0, mine.stderr
    run = Run(tmp_path / "run")
    assert load_config(run.config, {"seed": 3}).hash() == Run(trained[0]).config.hash()
    assert len(run.metrics()) == 2


def test_the_worker_count_of_a_running_run_is_changed(tmp_path):
    command = [BGES, "train", "point", "--iterations", "100000", *SMALL, "--set", "checkpoint.behaviors_every=0"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*command, "--out", "run"], cwd=tmp_path, stdout=log, stderr=log, text=True)
    try:
        wait_for((tmp_path / "run" / "metrics.parquet").exists, process)
        scaled = bges(tmp_path, "scale", "run", "--workers", "3")
        assert (scaled.returncode, scaled.stdout) == (0, "run will continue with 3 workers\n")
        wait_for(lambda: Run(tmp_path / "run").metrics()["workers"][-1].as_py() == 3, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "log").read_text().endswith("bges: interrupted; resume it with --resume\n")
    assert set(Run(tmp_path / "run").metrics()["workers"].to_pylist()) == {2, 3}
    late = bges(tmp_path, "scale", "run", "--workers", "3")
    assert (late.returncode, late.stderr.count("\n")) == (2, 1)
    assert "run is not running" in late.stderr


def test_an_environment_that_always_raises_ends_the_run_with_its_own_traceback(tmp_path):
    """It is a module of the directory where the command is given."""
    (tmp_path / "my_line.py").write_text(
        """
import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Line(gymnasium.Env):
    observation_space = Box(-1, 1, (2,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action):
        return self.broken()

    def broken(self):
        raise ZeroDivisionError("my own mistake")
"""
    )
    own = ["--set", "env.id=my_line:Line", "--set", "policy.hidden=[2]"]
    failed = bges(tmp_path, "train", "point", *SMALL, *own, "--out", "run", "--no-progress")
    assert failed.returncode == 1
    first, *traceback, last = failed.stderr.splitlines()
    assert re.fullmatch(
        r"bges: environment 'my_line:Line', step 1 \(episode seed \d+\): ZeroDivisionError: my own mistake", first
    )
    assert re.fullmatch(r"\(iteration 0, .*: failed 3 times\)", last)
    files = [line for line in traceback if line.startswith("  File ")]
    assert files
    assert all("my_line.py" in line for line in files)
    assert "\x1b" not in failed.stderr
    assert (tmp_path / "run" / "checkpoints" / "000000" / "SHA256SUMS").exists()


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


REFUSED = {
    "train pont": "there is no preset or YAML file 'pont' (did you mean 'point'?)",
    "train point --set es.sigm=1": "unknown key 'es.sigm' (did you mean 'sigma'?)",
    "train point --set es.sigma=-1": "es.sigma is -1: input should be greater than 0",
    "train point --workers many": "workers is 'many'",
    "train point --seed x": "Invalid value for '--seed'",
    "train point --seeds 1": "No such option: --seeds",
    "train point --set env.id=DeceptivPoint-v0": "env.id is 'DeceptivPoint-v0'",
    "train point --set env.id=no_such_module:Env": "there is no module 'no_such_module'",
    "train point --set env.kwargs.trap_width=1": "'trap_width' (did you mean 'trap_half_width'?)",
    "train point --set policy.name=linear --set policy.hidden=[4]": "linear is 'hidden', expected one of: ",
    "train point --set embedding.name=final_stat": "'final_stat'",
    "train point --out taken": "taken already holds a run",
    "train point --out file/run": "file/run cannot be written: Not a directory",
    "train point --out nothing --resume": "nothing holds no run to resume",
    "train point --resume": "there is no run runs/point-0-*",
    "train point --address 127.0.0.1:{port}": "no Ray cluster answers there",
    "train point --storage runs": "checkpoint: storage is 'runs', expected a URI such as s3://bucket/runs",
    "train point --storage nowhere://runs --out first": "storage 'nowhere://runs/first' cannot be used: ",
    "train file:///nothing/first": "file:///nothing/first is a stored run: resume it with --resume",
    "train file:///nothing/first --resume": "file:///nothing/first holds no run: it has no config.yaml",
    "train": "Missing argument",
    "trian point": "No such command 'trian'",
    "train bgpg-pendulum --set pg.num_envs=7": "pg: batch is 2000, expected a multiple of num_envs, 7",
    "train bgpg-pendulum --set pg.betta=1": "unknown key 'pg.betta' (did you mean 'beta'?)",
    "train bgpg-pendulum --set policy.name=toeplitz": "policy.name is 'toeplitz'",
    "eval nothing": "nothing is not a run directory",
    "eval taken --policy worst": "'worst'",
    "eval taken": "holds no checkpoint that can be read",
    "eval taken --video film.avi": "expected a file that ends in .mp4 or .gif",
    "eval taken --video nowhere/film.gif": "there is no directory 'nowhere'",
    "report": "Missing argument",
    "report nothing": "nothing is not a run directory",
    "report taken --out nowhere/report.html": "nowhere/report.html cannot be written",
    "watch nothing": "nothing is not a run directory",
    "watch taken --port 70000": "Invalid value for '--port'",
    "scale taken --workers 0": "Invalid value for '--workers'",
    "bench point-widht": "there is no experiment 'point-widht' (did you mean 'point-width'?)",
    "bench nowhere.yaml": "nowhere.yaml cannot be read",
    "bench point-width --seeds 0": "Invalid value for '--seeds'",
    "bench point-width --address 127.0.0.1:{port}": "no Ray cluster answers there",
    "cluster up nowhere.yaml": "nowhere.yaml cannot be read: No such file or directory",
    "cluster up taken/config.yaml": "taken/config.yaml: provider.type is missing, expected one of: aws, ",
    "cluster submit cluster.yaml pont": "there is no preset or YAML file 'pont' (did you mean 'point'?)",
    "cluster submit cluster.yaml point": "cluster 'none-of-this-name' is not up: start it with bges cluster up",
    "cluster status cluster.yaml": "cluster 'none-of-this-name' is not up: start it with bges cluster up",
    "cluster dwon cluster.yaml": "No such command 'dwon'",
    "cluster": "Missing command",
}


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """All wrong requests, a few at a time."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "taken").mkdir()
    (folder / "taken" / "config.yaml").write_text("algorithm: es\n")
    (folder / "file").touch()
    (folder / "cluster.yaml").write_text("{cluster_name: none-of-this-name, provider: {type: raylets}, nodes: [1]}")
    before = sorted(folder.rglob("*"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = [request.format(port=unused_port()).split() for request in REFUSED]
        done = dict(zip(REFUSED, pool.map(lambda line: bges(folder, *line, seconds=60), lines), strict=True))
    return done, before, sorted(folder.rglob("*"))


@pytest.mark.parametrize("request_", REFUSED)
def test_a_wrong_request_is_one_clear_line(refusals, request_):
    done = refusals[0][request_]
    assert done.returncode == 2
    assert done.stdout == ""
    assert REFUSED[request_] in done.stderr
    assert done.stderr.startswith("bges: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_request_leaves_nothing_behind(refusals):
    _, before, after = refusals
    assert before == after


@pytest.mark.parametrize(
    ("request_", "package", "extra"),
    [("bgpg-pendulum", "jax", "bgpg"), ("bgpg-hopper-stand", "dm_control", "dm")],
)
def test_a_missing_extra_is_one_clear_line(request_, package, extra, tmp_path):
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('no {package}', name='{package}')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command, environment = [BGES, "train", request_, "--out", "run"], {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.endswith(f'needs {package}, which is not installed: pip install "bges[{extra}]"\n')
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_an_update_that_is_not_finite_ends_the_run_with_its_term(tmp_path):
    wild = ["algorithm=pg", "pg.learning_rate=1e30", "pg.batch=100", "pg.num_envs=2", "policy.hidden=[4]"]
    settings = [word for text in wild for word in ("--set", text)]
    done = bges(tmp_path, "train", "bgpg-pendulum", *settings, "--workers", "1", "--out", "run", "--no-progress")
    assert done.returncode == 1
    assert done.stderr.startswith("bges: iteration 0: the ")
    assert "became NaN or infinite" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "run" / "checkpoints" / "000000" / "SHA256SUMS").exists()


def test_no_cluster_found_is_one_clear_line(tmp_path):
    environment = {**os.environ, "RAY_TMPDIR": str(tmp_path), "RAY_ADDRESS": f"127.0.0.1:{unused_port()}"}
    command = [BGES, "train", "point", "--address", "auto", "--no-progress"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "--address is 'auto': no Ray cluster answers there" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_ray_that_does_not_start_is_one_clear_line_and_the_run_can_go_on(tmp_path):
    """What Ray says of a node that is not there after half a minute, as on a machine that is far too busy."""
    script = (
        "import ray, bges.cli\n"
        "def late(**options):\n"
        "    raise Exception('The current node timed out\\nduring startup.')\n"
        "ray.init = late\n"
        "bges.cli.main()\n"
    )
    settings = ["--out", "run", "--iterations", "1", "--no-progress", *SMALL]
    command = [sys.executable, "-c", script, "train", "point", *settings]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith("bges: Ray did not start on this machine")
    assert "timed out during startup" in done.stderr
    again = bges(tmp_path, "train", "run", "--resume", "--no-progress")
    assert again.returncode == 0, again.stderr


def test_an_experiment_of_ones_own_goes_on_after_an_interruption(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        """
title: mine
base: point
seeds: 2
set: {iterations: 4, es.population: 8, es.chunk: 8, env.horizon: 8, es.noise_table: 20000}
methods: {BGES: {}, ES: {algorithm: es}}
picture: strip
"""
    )
    process = subprocess.Popen([BGES, "bench", "mine.yaml", "--workers", "1"], cwd=tmp_path, stderr=subprocess.PIPE)
    wait_for(lambda: list((tmp_path / "runs").glob("bench/*/config.yaml")), process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert said.decode() == "bges: interrupted; resume it with the same command\n"
    done = bges(tmp_path, "bench", "mine.yaml", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    assert "2/2  " in done.stdout
    assert "| ES | 1 |" in done.stdout
    assert sorted(path.name for path in (tmp_path / "bench" / "mine").iterdir()) == [
        "mine-curves.csv",
        "mine.csv",
        "mine.md",
        "mine.png",
    ]
    assert "point-width" in bges(tmp_path, "bench").stdout


def test_no_command_is_answered_with_help(tmp_path):
    done = bges(tmp_path)
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("train", "eval", "report", "watch", "scale", "bench", "presets"))
    assert bges(tmp_path, "--version").stdout.strip()
