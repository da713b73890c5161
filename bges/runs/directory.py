"""The directory of a run: everything that training writes."""

import fcntl
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from bges.config.loading import load_config
from bges.config.run import RunConfig
from bges.core.learner import Learner, Report
from bges.core.problem import Problem
from bges.errors import InputError, RunError
from bges.policies import FixedPolicy
from bges.runs.checkpoints import Checkpoint, Checkpoints
from bges.runs.files import write_json, write_text
from bges.runs.legacy import upgraded_table
from bges.runs.metrics import BehaviorFiles, MetricsTable, read_parquet
from bges.runs.tensorboard import TensorBoardFile
from bges.version import versions

SECONDS_BETWEEN_WRITES = 2.0


class Run:
    """A finished or running run, for reading."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / "config.yaml").is_file():
            raise InputError(f"{self.path} is not a run directory: it has no config.yaml")
        self.config: RunConfig = load_config(self.path / "config.yaml")
        self.checkpoints = Checkpoints(self.path / "checkpoints")

    def metrics(self) -> pa.Table:
        """A row for each finished iteration."""
        path = self.path / "metrics.parquet"
        if not path.exists():
            raise InputError(f"{self.path} has no metrics yet")
        return upgraded_table(read_parquet(path))

    def behaviors(self) -> pa.Table:
        """A row for each policy or episode recorded: iteration, index, sign, return, novelty, embedding."""
        files = sorted((self.path / "behaviors").glob("*.parquet"))
        if not files:
            raise InputError(f"{self.path} has no recorded behaviours")
        return upgraded_table(pa.concat_tables([read_parquet(file) for file in files]))

    def policy(
        self,
        which: str = "best",
        problem: Problem | None = None,
        checkpoint: Checkpoint | None = None,
        member: int | None = None,
    ) -> FixedPolicy:
        """The best policy so far, or the last one, with its observation statistics.

        `problem` is the configuration with its names resolved, for where a user's modules cannot be imported;
        `checkpoint` another than the newest; `member` one of several policies that learn side by side: without it,
        best is the best of all.
        """
        if checkpoint is None:
            checkpoint, _ = self.checkpoints.load_newest()
        found = checkpoint.policy(which, member)
        problem = problem or Problem.of(self.config)
        env = problem.make_env(1)
        architecture = problem.make_policy(env.single_observation_space, env.single_action_space)
        moments = found.moments if self.config.policy.normalize_observations else None
        shape = env.single_observation_space.shape
        env.close()
        return FixedPolicy(architecture, found.theta, moments, shape)

    def versions(self) -> str:
        """Versions the run was made with; several if it was resumed with others."""
        path = self.path / "versions.txt"
        return "; ".join(path.read_text().splitlines()) if path.exists() else "unknown"

    def request_workers(self, workers: int) -> None:
        """Ask a running run to continue with another number of workers."""
        if not self.is_running():
            raise InputError(f"{self.path} is not running: pass --workers when you start or resume it")
        least = self.config.faults.min_workers
        if workers < least:
            raise InputError(f"workers is {workers}, below the run's faults.min_workers, {least}")
        with _writing(self.path):
            write_json(self.path / "control.json", {"workers": workers, "time": time.time()})

    def is_running(self) -> bool:
        """Whether a process holds the directory's lock."""
        try:
            with (self.path / ".lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False


class RunWriter:
    """Writes a run; holds the directory's lock until closed."""

    def __init__(self, path: Path, config: RunConfig, *, resume: bool) -> None:
        self.path, self.config = path, config
        try:
            exists = (path / "config.yaml").exists()
            if exists and not resume:
                raise InputError(f"{path} already holds a run: resume it with --resume, or choose another --out")
            if resume and not exists:
                raise InputError(f"{path} holds no run to resume")
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / ".lock").open("w")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        try:
            self._take_over(resume)
        except OSError as error:
            self._lock.close()
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        except BaseException:
            self._lock.close()
            raise
        self.checkpoints = Checkpoints(
            path / "checkpoints", keep=config.checkpoint.keep, keep_every=config.checkpoint.keep_every
        )
        self.metrics = MetricsTable(path / "metrics.parquet")
        self._behaviors = BehaviorFiles(path / "behaviors")
        self._tensorboard: TensorBoardFile | None = None
        self._written = time.monotonic()
        self._new_best = False
        self._asked = self._control_stamp()

    def _take_over(self, resume: bool) -> None:
        """Lock the directory; a run in it must have the requested configuration."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.path} is in use by another run") from None
        if resume:
            _check_same(load_config(self.path / "config.yaml"), self.config, self.path)

    def begin(self, learner: Learner) -> list[str]:
        """Restore the learner and the tables from the newest valid checkpoint; returns problems with newer ones.

        Nothing is written before everything is checked, so that a request that is refused leaves the run as it was.
        """
        problems: list[str] = []
        if self.checkpoints.iterations():
            checkpoint, problems = self.checkpoints.load_newest()
            _check_hash(checkpoint, self.config, self.path)
            learner.restore(checkpoint.state)
        with _writing(self.path):
            write_text(self.path / "config.yaml", self.config.to_yaml())
            self._record_versions()
            self._remove_drafts()
            self.checkpoints.drop_after(learner.iteration)
            problems += self.metrics.restore(learner.iteration)
            self._behaviors.restore(learner.iteration)
        return problems

    def _record_versions(self) -> None:
        made_with = self.path / "versions.txt"
        lines = made_with.read_text().splitlines() if made_with.exists() else []
        if versions() not in lines:
            write_text(made_with, "\n".join([*lines, versions()]) + "\n")

    def _remove_drafts(self) -> None:
        """Remove files that a killed session had not yet renamed into place."""
        for draft in sorted(self.path.rglob(".*.part")):
            if draft.is_dir() and not draft.is_symlink():
                shutil.rmtree(draft)
            else:
                draft.unlink(missing_ok=True)

    def add(self, report: Report, row: dict[str, float]) -> None:
        """Add an iteration; it reaches the disk at the next write."""
        self.metrics.add(row)
        every = self.config.checkpoint.behaviors_every
        if every and report.iteration % every == 0:
            self._behaviors.add(report)
        self._new_best |= report.improved
        with _writing(self.path):
            if self._tensorboard is None:
                self._tensorboard = TensorBoardFile(self.path / "tb", first_step=report.iteration)
            self._tensorboard.add(report.iteration, row)

    def write(self) -> None:
        """Write the metrics if some time has passed."""
        if time.monotonic() - self._written > SECONDS_BETWEEN_WRITES:
            self._write_tables()

    def _write_tables(self) -> None:
        with _writing(self.path):
            self.metrics.write()
            if self._tensorboard is not None:
                self._tensorboard.flush()
        self._written = time.monotonic()

    def checkpoint(self, learner: Learner) -> None:
        """Write everything: tables first, so that a checkpoint never knows more than they do."""
        self._write_tables()
        made = Checkpoint(iteration=learner.iteration, config_hash=self.config.hash(), state=learner.state())
        with _writing(self.path):
            self._behaviors.write()
            self.checkpoints.save(made, best=self._new_best)
        self._new_best = False

    def asked_workers(self) -> int | None:
        """The number of workers requested by `bges scale` since the last call."""
        stamp = self._control_stamp()
        if stamp is None or stamp == self._asked:
            return None
        self._asked = stamp
        return stamp[1]

    def _control_stamp(self) -> tuple[float, int] | None:
        try:
            asked = json.loads((self.path / "control.json").read_text())
            return float(asked["time"]), int(asked["workers"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def close(self) -> None:
        # Anything still buffered was written before, or the disk is full and that was reported.
        with suppress(OSError):
            if self._tensorboard is not None:
                self._tensorboard.close()
        self._lock.close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise RunError(f"{path} cannot be written: {reason}; what was written before is intact") from error


def _check_hash(checkpoint: Checkpoint, config: RunConfig, path: Path) -> None:
    if not checkpoint.state.values:
        raise InputError(f"{path} was made by version 0.1: it can be evaluated and reported, but not resumed")
    if checkpoint.config_hash != config.hash():
        raise InputError(f"{path}: its checkpoints were made with another configuration")


def _check_same(stored: RunConfig, asked: RunConfig, path: Path) -> None:
    """A resumed run continues with the same numbers, so what decides them must not have changed."""
    if stored.hash() == asked.hash():
        return
    for key, before, now in _differences(stored.deciding(), asked.deciding()):
        raise InputError(f"{path} was made with {key} = {before!r}, not {now!r}: resume with the same configuration")


def _differences(one: Any, other: Any, key: str = "") -> list[tuple[str, Any, Any]]:
    """Every value that two trees do not share, by its dotted key; one that is missing counts as None."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = dict.fromkeys([*one, *other])
        return [d for n in names for d in _differences(one.get(n), other.get(n), f"{key}.{n}".lstrip("."))]
    return [] if one == other else [(key, one, other)]
