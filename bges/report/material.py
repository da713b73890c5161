"""The contents of a run directory; what is missing or unreadable is noted, and the rest is used."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml
from numpy.typing import NDArray

from bges.core.problem import Problem
from bges.environments import AnyVectorEnv
from bges.errors import BgesError, InputError
from bges.runs.checkpoints import Checkpoint, Checkpoints, DamagedCheckpoint
from bges.runs.directory import Run
from bges.runs.legacy import upgraded_table
from bges.runs.metrics import read_parquet

Floats = NDArray[np.float64]
# A user's own modules may raise anything; the report does without them.
ANY_FAILURE = Exception
MOST_CHECKPOINTS = 12
# What is kept of a run's behaviours: many runs of many dimensions have to fit into memory.
MOST_NUMBERS, LEAST_POINTS = 4_000_000, 2000


@dataclass(frozen=True, kw_only=True)
class Behaviors:
    """Recorded behaviours: points (n, d) with the iteration, return and novelty (n,) of each."""

    points: Floats
    iteration: Floats
    returns: Floats
    novelty: Floats

    def by(self, name: str) -> Floats:
        """The column that a map is coloured by: iteration, return or novelty."""
        column: Floats = getattr(self, "returns" if name == "return" else name)
        return column

    def thinned(self, most: int) -> "Behaviors":
        """At most so many, evenly over the run."""
        chosen = np.unique(np.linspace(0, len(self.points) - 1, min(most, len(self.points))).astype(int))
        return Behaviors(
            points=self.points[chosen],
            iteration=self.iteration[chosen],
            returns=self.returns[chosen],
            novelty=self.novelty[chosen],
        )


@dataclass(kw_only=True)
class Material:
    """A run as far as it can be read; `problems` lists what could not."""

    path: Path
    tree: dict[str, Any] = field(default_factory=dict)
    run: Run | None = None
    metrics: dict[str, Floats] = field(default_factory=dict)
    behaviors: Behaviors | None = None
    problems: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Material":
        if not any((path / name).exists() for name in ("config.yaml", "metrics.parquet", "checkpoints")):
            raise InputError(f"{path} is not a run directory: it has no config.yaml")
        material = cls(path=path)
        material._read_config()
        material._read_metrics()
        material._read_behaviors()
        return material

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    @property
    def seed(self) -> Any:
        return self.tree.get("seed")

    @property
    def algorithm(self) -> str:
        return str(self.tree.get("algorithm", "unknown"))

    @property
    def env_id(self) -> str:
        env = self.tree.get("env")
        return str(env.get("id", "unknown")) if isinstance(env, dict) else "unknown"

    @property
    def iterations(self) -> int:
        """Iterations that are finished and recorded."""
        return len(self.metrics.get("iteration", ()))

    @property
    def is_running(self) -> bool:
        return self.run is not None and self.run.is_running()

    def column(self, name: str) -> Floats:
        """A column of the metrics; NaN where it is not known."""
        return self.metrics.get(name, np.full(self.iterations, np.nan))

    def note(self, problem: object) -> None:
        text = " ".join(str(problem).split())
        if text not in self.problems:
            self.problems.append(text)

    @cached_property
    def problem(self) -> Problem | None:
        """The configuration with its names resolved; None where that fails."""
        if self.run is None:
            return None
        try:
            return Problem.of(self.run.config)
        except ANY_FAILURE as error:
            self.note(f"its environment and policy cannot be made: {error}")
            return None

    @cached_property
    def task(self) -> Any:
        """The task of an environment of ours, or None."""
        if self.problem is None:
            return None
        try:
            env: AnyVectorEnv = self.problem.make_env(1)
            env.close()
        except ANY_FAILURE as error:
            self.note(f"its environment cannot be made: {error}")
            return None
        return getattr(env.unwrapped, "task", None)

    @cached_property
    def checkpoints(self) -> dict[int, Checkpoint]:
        """Those that are sound, oldest first; of many, some evenly over the run and the last."""
        folder, found = Checkpoints(self.path / "checkpoints"), {}
        kept = folder.iterations()
        chosen = np.unique(np.linspace(0, len(kept) - 1, min(len(kept), MOST_CHECKPOINTS)).astype(int))
        for iteration in (kept[i] for i in chosen):
            try:
                found[iteration] = folder.load(iteration)
            except DamagedCheckpoint as error:
                self.note(error)
        if not kept:
            self.note("it has no checkpoint yet")
        return found

    def _read_config(self) -> None:
        try:
            self.run = Run(self.path)
            self.tree = self.run.config.model_dump(mode="json")
        except (BgesError, OSError) as error:
            self.note(error)
            self._read_foreign_config()

    def _read_foreign_config(self) -> None:
        """That of another version or of a broken file: good for a table, not for playing."""
        try:
            tree = yaml.safe_load((self.path / "config.yaml").read_text())
        except (OSError, ValueError, yaml.YAMLError):
            return
        if isinstance(tree, dict):
            self.tree = tree

    def _read_metrics(self) -> None:
        path = self.path / "metrics.parquet"
        if not path.exists():
            self.note("it has no metrics yet")
            return
        try:
            table = upgraded_table(read_parquet(path))
        except InputError as error:
            self.note(error)
            return
        kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
        for name, kind in zip(table.column_names, table.schema.types, strict=True):
            if any(is_kind(kind) for is_kind in kinds):
                self.metrics[name] = _numbers(table[name].to_pylist())
        self.metrics.setdefault("iteration", np.arange(len(table), dtype=float))

    def _read_behaviors(self) -> None:
        tables = []
        for path in sorted((self.path / "behaviors").glob("*.parquet")):
            try:
                tables.append(_columns(upgraded_table(read_parquet(path))))
            except (InputError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
                self.note(f"behaviors/{path.name}: {error}")
        if not tables:
            self.note("it has no recorded behaviours")
            return
        size = Counter(table["points"].shape[1] for table in tables).most_common(1)[0][0]
        alike = [table for table in tables if table["points"].shape[1] == size]
        joined = {name: np.concatenate([table[name] for table in alike]) for name in alike[0]}
        sound = np.isfinite(joined["points"]).all(axis=1) & np.isfinite(joined["iteration"])
        if sound.any():
            seen = Behaviors(**{name: values[sound] for name, values in joined.items()})
            self.behaviors = seen.thinned(max(MOST_NUMBERS // size, LEAST_POINTS))


def _columns(table: pa.Table) -> dict[str, Floats]:
    flat = table["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    points = np.asarray(flat, float).reshape(len(table), -1)
    columns = {name: _numbers(table[name].to_numpy()) for name in ("iteration", "return")}
    novelty = table["novelty"].to_numpy() if "novelty" in table.column_names else np.full(len(table), np.nan)
    return {
        "points": points,
        "iteration": columns["iteration"],
        "returns": columns["return"],
        "novelty": _numbers(novelty),
    }


def _numbers(values: Any) -> Floats:
    """What is not finite is not known."""
    array = np.array(values, float)
    return np.where(np.isfinite(array), array, np.nan)
