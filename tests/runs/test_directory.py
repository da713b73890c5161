"""A run's directory without anybody who plays far away: the lock, what resuming finds, what is left behind."""

import struct

import pytest
from tensorboardX.proto.event_pb2 import Event

from bges.config.loading import load_config
from bges.errors import InputError
from bges.runs.directory import Run, RunWriter
from tests.evolution.conftest import Local, small_config, thetas_of


class Session:
    """Makes a run, iteration by iteration, as the driver does."""

    def __init__(self, path, changes=None, *, resume=False):
        self.local = Local(small_config(changes))
        self.writer = RunWriter(path, self.local.evaluator.config, resume=resume)
        self.notes = self.writer.begin(self.local.strategy)

    def step(self, times):
        for _ in range(times):
            report = self.local.step()
            self.writer.add(report, report.metrics | {"wall_time": 1.0})
        return self

    def save(self):
        self.writer.checkpoint(self.local.strategy)
        return self

    def close(self):
        self.writer.close()


def test_the_lock_is_free_again_when_resuming_is_refused(tmp_path):
    Session(tmp_path).step(1).save().close()
    with pytest.raises(InputError, match=r"es\.sigma"):
        RunWriter(tmp_path, small_config({"es": {"sigma": 0.5}}), resume=True)
    Session(tmp_path, resume=True).close()


FIRST = {"env": {"kwargs": {"trap_x": 12.0}}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({**FIRST, "es": {"sigma": 0.5}}, r"es\.sigma = 0\.02, not 0\.5"),
        (
            {"env": {"kwargs": {"trap_x": 12.0, "trap_half_width": 3.0}}},
            r"env\.kwargs\.trap_half_width = None, not 3\.0",
        ),
        ({"env": {"kwargs": {}}}, r"env\.kwargs\.trap_x = 12\.0, not None"),
    ],
)
def test_a_refused_resume_leaves_the_run_as_it_was(tmp_path, changes, message):
    """Keys that changed, are new, or are gone."""
    Session(tmp_path, FIRST).step(1).save().close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=message):
        Session(tmp_path, changes, resume=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    Session(tmp_path, FIRST, resume=True).close()


def test_workers_are_asked_for_only_of_a_run_that_goes_on(tmp_path):
    session = Session(tmp_path).step(1).save()
    assert session.writer.asked_workers() is None
    Run(tmp_path).request_workers(5)
    assert session.writer.asked_workers() == 5
    assert session.writer.asked_workers() is None
    session.close()
    with pytest.raises(InputError, match="is not running"):
        Run(tmp_path).request_workers(7)
    resumed = Session(tmp_path, resume=True)
    assert resumed.writer.asked_workers() is None
    resumed.close()


def test_what_was_not_checkpointed_is_repeated(tmp_path):
    Session(tmp_path).step(3).save().step(2).close()
    resumed = Session(tmp_path, resume=True)
    assert resumed.local.strategy.iteration == 3
    resumed.step(4).save().close()
    whole = Local(small_config())
    for _ in range(7):
        whole.step()
    assert thetas_of(resumed.local.strategy) == thetas_of(whole.strategy)
    assert Run(tmp_path).metrics()["iteration"].to_pylist() == list(range(7))
    assert Run(tmp_path).behaviors()["iteration"].to_pylist() == [i for i in range(7) for _ in range(8)]


def test_tables_without_a_checkpoint_are_forgotten(tmp_path):
    """A run killed after its first tables and before its first checkpoint."""
    session = Session(tmp_path).step(4)
    session.writer.metrics.write()
    session.writer._behaviors.write()
    session.close()
    resumed = Session(tmp_path, resume=True)
    assert resumed.local.strategy.iteration == 0
    resumed.step(2).save().close()
    assert Run(tmp_path).metrics()["iteration"].to_pylist() == [0, 1]
    assert sorted(set(Run(tmp_path).behaviors()["iteration"].to_pylist())) == [0, 1]


def test_drafts_of_a_killed_session_are_removed(tmp_path):
    Session(tmp_path).step(2).save().close()
    (tmp_path / ".metrics.parquet.part").write_bytes(b"half")
    (tmp_path / "checkpoints" / ".000007.part").mkdir()
    (tmp_path / "checkpoints" / ".000007.part" / "arrays.npz").write_bytes(b"half")
    (tmp_path / "checkpoints" / ".last.part").symlink_to("000007")
    Session(tmp_path, resume=True).close()
    assert not list(tmp_path.rglob(".*.part"))
    assert Run(tmp_path).checkpoints.iterations() == [2]


def test_a_damaged_metrics_table_does_not_stop_a_resume(tmp_path):
    Session(tmp_path).step(2).save().close()
    (tmp_path / "metrics.parquet").write_bytes(b"not a table")
    with pytest.raises(InputError, match=r"metrics\.parquet cannot be read"):
        Run(tmp_path).metrics()
    resumed = Session(tmp_path, resume=True)
    assert len(resumed.notes) == 1
    assert "damaged-metrics.parquet" in resumed.notes[0]
    resumed.step(1).save().close()
    assert Run(tmp_path).metrics()["iteration"].to_pylist() == [2]


def events(path):
    """The records of an event file: length, its checksum, the event, its checksum."""
    content, found = path.read_bytes(), []
    while content:
        (size,) = struct.unpack("<Q", content[:8])
        found.append(Event.FromString(content[12 : 12 + size]))
        content = content[16 + size :]
    return found


def test_tensorboard_forgets_the_iterations_that_are_repeated(tmp_path):
    Session(tmp_path).step(2).save().step(1).close()
    Session(tmp_path, resume=True).step(2).save().close()
    first, second = (events(path) for path in sorted((tmp_path / "tb").iterdir(), key=lambda path: path.suffix))
    for said, steps in ((first, [0, 1, 2]), (second, [2, 3])):
        assert said[0].file_version == "brain.Event:2"
        assert (said[1].session_log.status, said[1].step) == (1, steps[0])
        assert [event.step for event in said[2:]] == steps
    scores = {value.tag: value.simple_value for value in second[-1].summary.value}
    assert scores["bges/score"] == pytest.approx(Run(tmp_path).metrics()["score"][-1].as_py())
    assert "bges/iteration" not in scores


def test_the_stored_configuration_is_the_run_s(tmp_path):
    session = Session(tmp_path, {"seed": 4})
    session.close()
    assert load_config(tmp_path / "config.yaml") == session.writer.config == Run(tmp_path).config
