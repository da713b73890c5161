"""Behaviours as Parquet files that travel: a row for each episode, embedded or whole."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bges.checks import check_array
from bges.config.common import EmbeddingConfig
from bges.config.loading import PRESETS
from bges.config.run import RunConfig
from bges.errors import InputError, within
from bges.runs.files import write_file
from bges.runs.metrics import read_parquet
from bges.trajectories import Trajectories

Floats = NDArray[np.float64]
COLUMN = "embedding"
MADE_BY = b"bges.embedding"


def write_behaviors(path: Path, points: Any, embedding: EmbeddingConfig) -> None:
    """Write points (n, d) and their embedding; nothing else about the run is stored."""
    points = np.asarray(points, np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1)), points.shape[1])
    write_table(path, pa.table({COLUMN: lists}).replace_schema_metadata({MADE_BY: _made_by(embedding)}))


def write_table(path: Path, table: pa.Table) -> None:
    try:
        write_file(path, lambda file: pq.write_table(table, file))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def read_rows(path: Path) -> pa.Table:
    """A table of behaviours with at least one row."""
    if not path.is_file():
        raise InputError(f"{path} does not exist")
    table = read_parquet(path)
    if len(table) == 0:
        raise InputError(f"{path} has no rows")
    return table


def points_of(table: pa.Table, embedding: EmbeddingConfig) -> Floats:
    """The column `embedding` as (n, d); refused where the file says that it was embedded in another way."""
    if COLUMN not in table.column_names:
        raise InputError(f"there is no column {COLUMN!r}, only {', '.join(table.column_names) or 'none'}")
    made = (table.schema.metadata or {}).get(MADE_BY)
    if made is not None and made != _made_by(embedding):
        raise InputError(f"it was embedded with {made.decode()}, this run embeds with {_made_by(embedding).decode()}")
    return check_array(f"column {COLUMN!r}", table[COLUMN].to_pylist(), (None, None))


def trajectories_of(table: pa.Table, horizon: int, needs: Collection[str]) -> Trajectories:
    """The columns `observations` (T+1 lists), `rewards` (T) and, where they are needed, `actions` (T lists)."""
    names = ["observations", "rewards", *(["actions"] if "actions" in needs else [])]
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(
            f"there is no column {COLUMN!r}, nor {', '.join(repr(name) for name in missing)} of whole episodes, only "
            f"{', '.join(table.column_names) or 'none'}"
        )
    found = []
    for row, episode in enumerate(table.select(names).to_pylist()):
        with within(f"row {row}"):
            found.append(_episode(episode, horizon))
    sizes = {tuple(part.shape[1:] for part in one) for one in found}
    if len(sizes) > 1:
        raise InputError("observations or actions do not have the same size in all rows")
    lengths = np.array([len(rewards) for _, _, rewards in found])
    observations, actions, rewards = (
        np.stack([_filled(one[i], horizon + (i == 0)) for one in found]) for i in range(3)
    )
    return Trajectories.padded(observations=observations, actions=actions, rewards=rewards, lengths=lengths)


def _filled(rows: Floats, count: int) -> Floats:
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]))])


def read_expert(config: RunConfig, size: int | None) -> Floats | None:
    """The behaviours that `novelty.expert` names, where the algorithm looks at them.

    `size` is the dimension of this run's own, where it is known already.
    """
    name = config.novelty.expert
    if name is None or config.algorithm != "bges":
        return None
    with within(f"novelty.expert is {name!r}"):
        path = Path(name) if Path(name).is_file() else PRESETS / f"{name}.parquet"
        if not path.is_file():
            raise InputError(
                "there is no such file; `bges eval RUN --save-behavior FILE.parquet` writes one, and "
                "--set novelty.expert=FILE.parquet selects it"
            )
        points = points_of(read_rows(path), config.embedding)
        if size is not None and points.shape[1] != size:
            raise InputError(f"its behaviours have {points.shape[1]} numbers each, those of this run {size}")
    return points


def _episode(row: dict[str, Any], horizon: int) -> tuple[Floats, Floats, Floats]:
    rewards = check_array("rewards", row["rewards"], (None,))
    steps = len(rewards)
    if not 1 <= steps <= horizon:
        raise InputError(f"the episode has {steps} steps, expected 1 to {horizon}, the horizon of this run")
    observations = check_array("observations", row["observations"], (steps + 1, None))
    actions = check_array("actions", row.get("actions", np.zeros((steps, 1))), (steps, None))
    return observations, actions, rewards


def _made_by(embedding: EmbeddingConfig) -> bytes:
    return json.dumps(embedding.model_dump(mode="json", exclude={"standardize"}), sort_keys=True).encode()
