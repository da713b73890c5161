"""A copy of a run elsewhere: what is lost here comes back from there, and a copy that fails stops nothing."""

import shutil
import signal

import pytest

from bges.api import requested
from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.errors import InputError, Interrupted
from bges.runs.directory import Run
from bges.runs.storage import Storage, fetch_run
from bges.training.local import run_alone
from bges.training.loop import Silent
from tests.distributed.conftest import state_of, tree, whole
from tests.distributed.test_signals import StopAt

CHANGES = {"checkpoint": {"every": 2, "keep": 2}}


def stored(folder, changes=CHANGES):
    """A configuration that copies to `folder`/copies, and the URI of the copy of a run called first."""
    config = RunConfig.parse(tree(changes))
    checkpoint = config.checkpoint.model_copy(update={"storage": f"file://{folder}/copies"})
    return config.model_copy(update={"checkpoint": checkpoint}), f"file://{folder}/copies/first"


def resumed(uri, out=None):
    options = dict.fromkeys(("seed", "workers", "iterations", "set_", "storage"))
    return requested(uri, out=out, resume=True, **options)


def contents(folder):
    """Every file by its name, without what only a running process needs; links are followed."""
    files = [path for path in folder.glob("**/*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_run_whose_directory_is_lost_goes_on_from_its_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config, uri = stored(tmp_path)
    out = tmp_path / "runs" / "first"
    with pytest.raises(Interrupted):
        run_alone(Problem.of(config), out, progress=StopAt(4, signal.SIGTERM))
    before = contents(out)
    assert Run(out).checkpoints.iterations() == [4, 5]
    shutil.rmtree(tmp_path / "runs")
    found, path = resumed(uri)
    assert path.resolve() == out
    assert contents(out) == before
    assert (out / "checkpoints" / "last").readlink().name == "000005"
    run = run_alone(Problem.of(found), path, resume=True)
    assert state_of(run) == whole(CHANGES)
    fetch_run(uri, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(out)
    assert Run(tmp_path / "again").checkpoints.iterations() == [8, 10]


def test_checkpoints_that_are_played_again_leave_the_copy_at_once(tmp_path):
    """Or a later fetch would take one of them for the newest."""
    config, uri = stored(tmp_path)
    out = tmp_path / "first"
    run_alone(Problem.of(config), out)
    shutil.rmtree(out / "checkpoints" / "000010")
    with pytest.raises(Interrupted):
        run_alone(Problem.of(config), out, resume=True, progress=StopAt(8, signal.SIGTERM))
    fetch_run(uri, tmp_path / "again")
    assert Run(tmp_path / "again").checkpoints.iterations() == [8, 9]


class Outage(Silent):
    """From iteration 2 on, up to another, a file is where the copy should be."""

    def __init__(self, copy, until):
        self.copy, self.away, self.until, self.said = copy, copy.with_name("away"), until, []

    def update(self, row):
        if row["iteration"] == 2:
            self.copy.rename(self.away)
            self.copy.touch()
        if row["iteration"] == self.until:
            self.mend()

    def mend(self):
        self.copy.unlink()
        self.away.rename(self.copy)

    def say(self, text):
        self.said.append(text)


def test_a_copy_that_fails_is_said_and_tried_again(tmp_path):
    config, uri = stored(tmp_path)
    outage = Outage(tmp_path / "copies" / "first", until=6)
    run = run_alone(Problem.of(config), tmp_path / "first", progress=outage)
    assert state_of(run) == whole(CHANGES)
    assert [text.split(": ")[0] for text in outage.said] == [
        f"copy to {uri} failed, {times} times so far" for times in (1, 2)
    ]
    assert all(
        text.endswith("; retrying at the next checkpoint or at the end") and "\n" not in text for text in outage.said
    )
    fetch_run(uri, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "first")


def test_a_copy_that_fails_to_the_end_is_made_when_the_finished_run_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr("bges.runs.storage.PAUSES", (0.0, 0.0))
    config, uri = stored(tmp_path)
    outage, out = Outage(tmp_path / "copies" / "first", until=None), tmp_path / "first"
    run = run_alone(Problem.of(config), out, progress=outage)
    assert state_of(run) == whole(CHANGES)
    assert [text.split(": ")[0] for text in outage.said] == [
        f"copy to {uri} failed, {times} times so far" for times in (1, 2, 3, 4, 6)
    ]
    assert outage.said[-1].endswith(f"; the run is complete in {out}, and --resume tries again")
    outage.mend()
    run_alone(Problem.of(config), out, resume=True)
    fetch_run(uri, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(out)


def test_only_what_has_changed_travels(tmp_path, monkeypatch):
    sent = []
    put = Storage._put
    monkeypatch.setattr(Storage, "_put", lambda self, name, path: (sent.append(name), put(self, name, path)))
    config, _ = stored(tmp_path)
    run_alone(Problem.of(config), tmp_path / "first")
    assert sent.count("config.yaml") == 1
    assert sent.count("checkpoints/000004/arrays.npz") == 1
    assert sent.count("metrics.parquet") == 5


def test_a_second_run_of_that_name_is_refused(tmp_path):
    config, uri = stored(tmp_path)
    run_alone(Problem.of(config), tmp_path / "first")
    with pytest.raises(InputError, match=f"{uri} already holds a run: resume it with --resume"):
        run_alone(Problem.of(config), tmp_path / "elsewhere" / "first")
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(InputError, match="already exists: resume that run, or choose another --out"):
        resumed(uri, tmp_path / "first")


def test_where_a_run_is_stored_does_not_change_its_name(tmp_path):
    assert stored(tmp_path)[0].hash() == RunConfig.parse(tree(CHANGES)).hash()


@pytest.mark.parametrize("uri", ["nowhere://bucket/runs", "file:///proc/none/runs"])
def test_a_place_that_cannot_be_used_is_one_clear_line(uri, tmp_path):
    with pytest.raises(InputError, match=f"storage '{uri}/first' cannot be used: ") as caught:
        Storage(uri, "first", resume=False)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=f"storage '{uri}/none' cannot be used|holds no run"):
        fetch_run(f"{uri}/none", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
