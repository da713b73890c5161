"""The loop of a run: ask, play on the workers, tell, write."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from bges.algorithms import make_learner, make_player
from bges.config.run import RunConfig
from bges.core.learner import Learner, Report
from bges.core.player import Player
from bges.core.problem import Problem
from bges.distributed.gauges import Gauges
from bges.distributed.session import Session, check_address, ray_session
from bges.distributed.shipping import ship_by_value
from bges.errors import RunError
from bges.runs.directory import Run, RunWriter
from bges.runs.storage import Storage
from bges.training.inline import InlinePool, Pool
from bges.training.signals import noted_signals

SECONDS_BETWEEN_CHECKS = 0.5


class Progress(Protocol):
    """Who is told how a run goes."""

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


def run_training(
    config: RunConfig,
    out: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Make the run that `config` describes in the directory `out`, or go on with the one that is there."""
    check_address(address)
    problem = Problem.of(config)
    with closing(make_player(problem)) as player:
        learner = make_learner(player)
    with ExitStack() as stack:
        connect = partial(ray_session, address, player.shared.nbytes)
        # A cluster that does not answer leaves no directory behind; an embedded one is not started for a bad directory.
        session = None if address is None else stack.enter_context(connect())
        loop = stack.enter_context(_prepared(config, out, learner, resume, progress))
        if not learner.done:
            session = session or stack.enter_context(connect())
            cluster = _Cluster(problem, player, session, loop)
            stack.callback(cluster.pool.close)
            learner.use(cluster.pool.run)
            if session.dashboard:
                loop.gauges = Gauges(out.name)
            loop.run(cluster.pool)
        else:
            loop.finish()
    return Run(out)


def run_alone(problem: Problem, out: Path, *, resume: bool = False, progress: Progress | None = None) -> Run:
    """The same run, number for number, in this process alone: for many runs side by side, one on each core."""
    with closing(make_player(problem)) as player:
        learner = make_learner(player)
        with _prepared(problem.config, out, learner, resume, progress) as loop:
            loop.run(InlinePool(player, loop.stopped))
    return Run(out)


@contextmanager
def _prepared(
    config: RunConfig, out: Path, learner: Learner, resume: bool, progress: Progress | None
) -> Iterator["_Loop"]:
    """The directory is ours, the learner where it was left, and signals are noted."""
    progress = progress or Silent()
    # The driver's linear algebra is small: more threads would spin on the workers' cores, and could change bits.
    with noted_signals() as stopped, threadpool_limits(1):
        uri = config.checkpoint.storage
        storage = None if uri is None else Storage(uri, out.resolve().name, resume=resume)
        writer = RunWriter(out, config, resume=resume)
        try:
            notes = writer.resume(learner) if resume else []
            progress.begin(out, config, learner, notes)
            yield _Loop(config, learner, writer, storage, progress, stopped)
        finally:
            progress.end()
            writer.close()


class _Cluster:
    """The workers of a run on Ray, as many as are wanted at any time."""

    def __init__(self, problem: Problem, player: Player, session: Session, loop: "_Loop") -> None:
        import ray

        from bges.distributed.actor import RolloutActor
        from bges.distributed.pool import WorkerPool

        config, self._session, self._loop = problem.config, session, loop
        self._workers: int | str = config.workers
        self._checked = 0.0
        ship_by_value(config)
        # The driver keeps both references, or a replaced worker could not start.
        self._shared, self._shipped = ray.put(player.shared), ray.put(problem)
        remote = ray.remote(RolloutActor).options(**session.worker_options)
        self.pool = WorkerPool(
            lambda: remote.remote(self._shipped, self._shared), self._wanted(), config.faults, self._check, loop.say
        )

    def _wanted(self) -> int:
        return self._session.cpus() if self._workers == "auto" else int(self._workers)

    def _check(self) -> bool:
        """A few times a second: has somebody asked to stop, or for another number of workers?"""
        if self._loop.stopped():
            return True
        if time.monotonic() - self._checked > SECONDS_BETWEEN_CHECKS:
            self._checked = time.monotonic()
            self._workers = self._loop.writer.asked_workers() or self._workers
            wanted = self._wanted()
            if wanted != self.pool.workers:
                self.pool.resize(wanted)
        return False


class _Loop:
    def __init__(
        self,
        config: RunConfig,
        learner: Learner,
        writer: RunWriter,
        storage: Storage | None,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> None:
        self._config, self._learner, self._storage, self._progress = config, learner, storage, progress
        self.writer, self.stopped, self.say = writer, stopped, progress.say
        self._wall = float(writer.metrics.last.get("wall_time") or 0.0)
        self.gauges: Gauges | None = None
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
            "bytes_per_behavior": traffic / max(len(report.rewards), 1),
        }
        self._unwritten = report, row
        self._progress.update(row)
        if self.gauges is not None:
            self.gauges.update(row)

    def _write_last(self) -> None:
        """End the last iteration and put it on record, while the workers play the next."""
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
                self.say(f"{problem}; the run is whole in {self.writer.path}, and --resume tries again")

    def _checkpoint(self) -> None:
        self.writer.checkpoint(self._learner)
        if self._storage is not None:
            problem = self._storage.send(self.writer.path)
            if problem is not None:
                self.say(f"{problem}; next try at the next checkpoint, or at the end")
