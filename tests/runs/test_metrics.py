import itertools
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bges.errors import InputError
from bges.runs.files import write_file
from bges.runs.metrics import BehaviorFiles, MetricsTable, read_parquet
from tests.evolution.conftest import Local, small_config


@pytest.fixture
def table(tmp_path):
    """Five rows on disk; a column appears in the third."""
    table = MetricsTable(tmp_path / "metrics.parquet")
    for i in range(5):
        table.add({"iteration": i, "score": i / 2} | ({"late": 1.5} if i >= 2 else {}))
    table.write()
    return table


def test_columns_may_appear_later(table, tmp_path):
    stored = pq.read_table(tmp_path / "metrics.parquet")
    assert stored["iteration"].to_pylist() == [0, 1, 2, 3, 4]
    assert str(stored["iteration"].type) == "int64"
    assert stored["late"].to_pylist() == [None, None, 1.5, 1.5, 1.5]


def test_rows_of_iterations_that_are_repeated_are_dropped(table, tmp_path):
    again = MetricsTable(tmp_path / "metrics.parquet")
    assert again.last == {}
    assert again.restore(3) == []
    assert again.last["iteration"] == 2
    again.add({"iteration": 3, "score": 9.0})
    again.write()
    assert read_parquet(tmp_path / "metrics.parquet")["score"].to_pylist() == [0.0, 0.5, 1.0, 9.0]


@pytest.mark.parametrize("damage", ["truncate", "empty", "garbage"])
def test_a_damaged_table_is_put_aside_and_said_so(table, tmp_path, damage):
    path = tmp_path / "metrics.parquet"
    content = {"truncate": path.read_bytes()[:-9], "empty": b"", "garbage": b"PAR1" + bytes(range(200))}[damage]
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"metrics\.parquet cannot be read: "):
        read_parquet(path)
    again = MetricsTable(path)
    (note,) = again.restore(3)
    assert "metrics.parquet cannot be read" in note
    assert "renamed to damaged-metrics.parquet" in note
    assert "\n" not in note
    assert (tmp_path / "damaged-metrics.parquet").read_bytes() == content
    assert not path.exists()
    again.add({"iteration": 3, "score": 9.0})
    again.write()
    assert read_parquet(path)["iteration"].to_pylist() == [3]


def test_behaviors_of_repeated_iterations_are_dropped(tmp_path):
    made, files = Local(small_config()), BehaviorFiles(tmp_path / "behaviors")
    for i in range(4):
        files.add(made.step())
        if i in (1, 3):
            files.write()
    names = sorted(path.name for path in (tmp_path / "behaviors").iterdir())
    assert names == ["000000-000001.parquet", "000002-000003.parquet"]
    stored = read_parquet(tmp_path / "behaviors" / names[1])
    assert sorted(set(stored["iteration"].to_pylist())) == [2, 3]
    assert stored["index"].to_pylist() == list(range(8)) * 2
    assert set(stored["sign"].to_pylist()) == {-1, 1}
    files.restore(2)
    assert [path.name for path in (tmp_path / "behaviors").iterdir()] == names[:1]


def test_a_table_can_be_read_while_it_is_written_again_and_again(tmp_path, rng):
    """Without reading in one go, about one read in sixty fails."""
    path, stop = tmp_path / "metrics.parquet", threading.Event()

    def write() -> None:
        for rows in itertools.cycle(range(10, 300)):
            table = pa.table({f"column{i}": rng.normal(size=rows) for i in range(40)})
            write_file(path, lambda file, table=table: pq.write_table(table, file))
            if stop.is_set():
                return

    stop.set()
    write()
    stop.clear()
    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts = [len(read_parquet(path)) for _ in range(600)]
    finally:
        stop.set()
        writer.join()
    assert len(set(counts)) > 3
