"""The loop of a run: ask, play, tell, write."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from bges.config.run import RunConfig
from bges.core.learner import Learner, Report
from bges.core.work import Outcome, Work
from bges.errors import Interrupted, RunError
from bges.runs.directory import RunWriter
from bges.runs.storage import Storage
from bges.training.inline import Pool
from bges.training.signals import noted_signals


class Progress(Protocol):
    """Receives the progress of a run."""

    def begin(self, path: Path, config: RunConfig, learner: Learner, notes: list[str]) -> None: ...

    def update(self, row: dict[str, Any]) -> None: ...

    def say(self, text: str) -> None: ...

    def end(self) -> None: ...


class Silent:
    def begin(self, path: Path, config: RunConfig, learner: Learner, notes: list[str]) -> None:
        pass

    def update(self, row: dict[str, Any]) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def end(self) -> None:
        pass


class Loop:
    """Plays a learner's iterations on a pool and writes what comes of them; `listeners` hear each row of metrics."""

    def __init__(
        self,
        config: RunConfig,
        learner: Learner,
        writer: RunWriter,
        storage: Storage | None,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> None:
        self._config, self._learner, self._storage = config, learner, storage
        self.writer, self.stopped, self.say = writer, stopped, progress.say
        self.listeners: list[Callable[[dict[str, Any]], None]] = [progress.update]
        self._wall = float(writer.metrics.last.get("wall_time") or 0.0)
        self._unwritten: tuple[Report, dict[str, float]] | None = None

    def run(self, pool: Pool) -> None:
        while not self._learner.done:
            self._iterate(pool)
        self.finish()

    def _iterate(self, pool: Pool) -> None:
        started, learner = time.perf_counter(), self._learner
        lost, sends = pool.lost_chunks, pool.context_sends
        units, context = learner.ask(), learner.context
        try:
            results = pool.run(units, context, self._write_last)
        except Exception:
            # Whatever has happened to the workers, what is finished is not lost.
            self.finish()
            raise
        waited, sends = time.perf_counter(), pool.context_sends - sends
        try:
            report = learner.tell(results)
            while isinstance(report, Work):
                report = learner.tell(_followed_up(pool, report))
        except RunError:
            # It is as it was before this iteration.
            self.finish()
            raise
        told = time.perf_counter()
        self._wall += told - started
        busy = sum(result.seconds for result in results)
        traffic = sum(result.nbytes for result in results) + sends * context.nbytes
        row = report.metrics | {
            "wall_time": self._wall,
            "seconds_rollout": busy / max(pool.workers, 1),
            "seconds_waiting": waited - started,
            "seconds_scoring": report.seconds["scoring"],
            "seconds_update": told - waited - report.seconds["scoring"],
            "steps_per_second": sum(result.steps for result in results) / (told - started),
            "workers": pool.workers,
            "lost_chunks": pool.lost_chunks - lost,
            "bytes_per_behavior": traffic / max(len(report.returns), 1),
        }
        self._unwritten = report, row
        for listener in self.listeners:
            listener(row)

    def _write_last(self) -> None:
        """Finish and write the last iteration while the workers play the next."""
        if self._unwritten is not None:
            report, row = self._unwritten
            row |= self._learner.conclude()
            self._unwritten = None
            self.writer.add(report, row)
            if self._learner.iteration % self._config.checkpoint.every == 0:
                self._checkpoint()
            else:
                self.writer.write()

    def finish(self) -> None:
        """Write everything that is finished."""
        self._write_last()
        if self._learner.iteration not in self.writer.checkpoints.iterations():
            self._checkpoint()
        if self._storage is not None:
            problem = self._storage.finish(self.writer.path)
            if problem is not None:
                self.say(f"{problem}; the run is complete in {self.writer.path}, and --resume tries again")

    def _checkpoint(self) -> None:
        self.writer.checkpoint(self._learner)
        if self._storage is not None:
            problem = self._storage.send(self.writer.path)
            if problem is not None:
                self.say(f"{problem}; retrying at the next checkpoint or at the end")


def _followed_up(pool: Pool, work: Work) -> Sequence[Outcome]:
    """What came of the rest of an update; nothing, where that failed and the learner does it alone.

    In the middle of an update nothing may fail: whoever asked to stop is heard before the next iteration.
    """
    try:
        return pool.run(work.units, work.context)
    except (Interrupted, RunError):
        return []


@contextmanager
def prepared(
    config: RunConfig, out: Path, learner: Learner, *, resume: bool, progress: Progress | None
) -> Iterator[Loop]:
    """The directory is ours, the learner where it was left, and signals are noted."""
    progress = progress or Silent()
    # The driver's linear algebra is small: more threads would spin on the workers' cores, and could change bits.
    with noted_signals() as stopped, threadpool_limits(1):
        uri = config.checkpoint.storage
        storage = None if uri is None else Storage(uri, out.resolve().name, resume=resume)
        writer = RunWriter(out, config, resume=resume)
        try:
            notes = writer.begin(learner)
            progress.begin(out, config, learner, notes)
            yield Loop(config, learner, writer, storage, progress, stopped)
        finally:
            progress.end()
            writer.close()
