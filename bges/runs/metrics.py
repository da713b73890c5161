"""The tables of a run: a row for each iteration, and the behaviours seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bges.core.learner import Report
from bges.errors import InputError
from bges.runs.files import write_file

WHOLE = ("iteration", "env_steps", "episodes", "member", "workers", "lost_chunks", "archive", "clipped")


def read_parquet(path: Path) -> pa.Table:
    try:
        # Read at once: pyarrow opens a path more than once, and a running run may replace the file in between.
        return pq.read_table(pa.BufferReader(path.read_bytes()))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read: {reason}") from None


class MetricsTable:
    """Rows of numbers; columns may appear later and are empty before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Any]] = []

    def restore(self, iteration: int) -> list[str]:
        """Keep an earlier session's rows before this iteration; a damaged table is renamed."""
        if not self._path.exists():
            return []
        try:
            rows = read_parquet(self._path).to_pylist()
        except InputError as error:
            aside = self._path.with_name(f"damaged-{self._path.name}")
            self._path.replace(aside)
            return [f"{error}; it was renamed to {aside.name}, and the table continues without its rows"]
        self._rows = [row for row in rows if row["iteration"] < iteration]
        return []

    @property
    def last(self) -> dict[str, Any]:
        return self._rows[-1] if self._rows else {}

    def add(self, row: dict[str, float]) -> None:
        self._rows.append(row)

    def table(self) -> pa.Table:
        names = dict.fromkeys(name for row in self._rows for name in row)
        columns = {}
        for name in names:
            values = [row.get(name) for row in self._rows]
            columns[name] = pa.array(values, pa.int64() if name in WHOLE else pa.float64())
        return pa.table(columns)

    def write(self) -> None:
        if self._rows:
            table = self.table()
            write_file(self._path, lambda file: pq.write_table(table, file))


class BehaviorFiles:
    """Behaviours in files of the iterations between two checkpoints."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[tuple[int, pa.Table]] = []

    def restore(self, iteration: int) -> None:
        for path in self._folder.glob("*.parquet"):
            if int(path.stem.split("-")[0]) >= iteration:
                path.unlink()

    def add(self, report: Report) -> None:
        n = len(report.returns)
        if n == 0:
            return
        points = report.embeddings.mean(axis=1).astype(np.float32)
        flat = pa.array(points.reshape(-1), pa.float32())
        table = pa.table(
            {
                "iteration": pa.array(np.full(n, report.iteration), pa.int32()),
                "index": pa.array(np.arange(n), pa.int32()),
                "sign": pa.array(report.signs.astype(np.int8)),
                "return": pa.array(report.returns),
                "novelty": pa.array(report.novelties),
                "embedding": pa.FixedSizeListArray.from_arrays(flat, points.shape[1]),
            }
        )
        self._parts.append((report.iteration, table))

    def write(self) -> None:
        if not self._parts:
            return
        self._folder.mkdir(exist_ok=True)
        first, last = self._parts[0][0], self._parts[-1][0]
        table = pa.concat_tables([table for _, table in self._parts])
        write_file(self._folder / f"{first:06d}-{last:06d}.parquet", lambda file: pq.write_table(table, file))
        self._parts = []
