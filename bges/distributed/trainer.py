"""The loop of a run: ask, play on the workers, tell, write."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from bges.distributed.session import Session, check_address, ray_session
from bges.distributed.shipping import ship_by_value
from bges.errors import BgesError
from bges.evolution.evaluator import Evaluator, Problem
from bges.evolution.strategy import Report, Strategy, num_members
from bges.runs.config import RunConfig
from bges.runs.directory import Run, RunWriter

SECONDS_BETWEEN_CHECKS = 0.5


class Progress(Protocol):
    """Who is told how a run goes."""

    def begin(self, path: Path, config: RunConfig, strategy: Strategy, notes: list[str]) -> None: ...

    def update(self, row: dict[str, Any]) -> None: ...

    def end(self) -> None: ...


class Silent:
    def begin(self, path: Path, config: RunConfig, strategy: Strategy, notes: list[str]) -> None:
        pass

    def update(self, row: dict[str, Any]) -> None:
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
    progress = progress or Silent()
    check_address(address)
    problem = Problem.of(config)
    evaluator = Evaluator(problem)
    thetas = [evaluator.initial_theta(member) for member in range(num_members(config))]
    strategy = Strategy(config, thetas, evaluator.table)
    evaluator.close()
    # The driver's linear algebra is small: more threads would spin on the workers' cores, and could change bits.
    with _signals() as stopped, threadpool_limits(1):
        writer = RunWriter(out, config, resume=resume)
        try:
            notes = writer.resume(strategy) if resume else []
            progress.begin(out, config, strategy, notes)
            _Loop(config, problem, strategy, writer, progress, stopped).run(address)
        finally:
            progress.end()
            writer.close()
    return Run(out)


class _Loop:
    def __init__(
        self,
        config: RunConfig,
        problem: Problem,
        strategy: Strategy,
        writer: RunWriter,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> None:
        self._config, self._problem, self._strategy = config, problem, strategy
        self._writer, self._progress, self._stopped = writer, progress, stopped
        self._wall = float(writer.metrics.last.get("wall_time") or 0.0)
        self._unwritten: tuple[Report, dict[str, float]] | None = None
        self._workers: int | str = config.workers
        self._checked = 0.0
        self._pool: Any = None
        self._session: Session | None = None

    def run(self, address: str | None) -> None:
        if self._strategy.iteration >= self._config.iterations:
            return
        with ray_session(address, self._strategy.table.nbytes) as session:
            self._session = session
            self._pool = self._make_pool()
            try:
                while not self._strategy.done:
                    self._iterate()
            except BgesError:
                self._finish()
                raise
            finally:
                self._pool.close()
        self._finish()

    def _make_pool(self) -> Any:
        import ray

        from bges.distributed.actor import RolloutActor
        from bges.distributed.pool import WorkerPool

        assert self._session is not None
        ship_by_value(self._config)
        # The driver keeps both references, or a replaced worker could not start.
        self._table, self._shipped = ray.put(self._strategy.table), ray.put(self._problem)
        remote = ray.remote(RolloutActor).options(**self._session.worker_options)
        return WorkerPool(
            lambda: remote.remote(self._shipped, self._table), self._wanted(), self._config.faults, self._check
        )

    def _wanted(self) -> int:
        assert self._session is not None
        return self._session.cpus() if self._workers == "auto" else int(self._workers)

    def _check(self) -> bool:
        """A few times a second: has somebody asked to stop, or for another number of workers?"""
        if self._stopped():
            return True
        if time.monotonic() - self._checked > SECONDS_BETWEEN_CHECKS:
            self._checked = time.monotonic()
            self._workers = self._writer.asked_workers() or self._workers
            wanted = self._wanted()
            if wanted != self._pool.workers:
                self._pool.resize(wanted)
        return False

    def _iterate(self) -> None:
        started, strategy, pool = time.perf_counter(), self._strategy, self._pool
        lost, sends = pool.lost_chunks, pool.context_sends
        units, context = strategy.ask(), strategy.context
        results = pool.run(units, context, self._write_last)
        waited = time.perf_counter()
        report = strategy.tell(results)
        told = time.perf_counter()
        self._wall += told - started
        busy = sum(result.seconds for result in results)
        traffic = sum(result.nbytes for result in results) + (pool.context_sends - sends) * context.nbytes
        row = report.metrics | {
            "wall_time": self._wall,
            "seconds_rollout": busy / max(pool.workers, 1),
            "seconds_waiting": waited - started,
            "seconds_scoring": report.seconds["scoring"],
            "seconds_update": told - waited - report.seconds["scoring"],
            "steps_per_second": sum(result.steps for result in results) / (told - started),
            "workers": pool.workers,
            "lost_chunks": pool.lost_chunks - lost,
            "bytes_per_perturbation": traffic / self._config.es.population,
        }
        self._unwritten = report, row
        self._progress.update(row)

    def _write_last(self) -> None:
        """Put the last iteration on record while the workers play the next."""
        if self._unwritten is not None:
            finished, self._unwritten = self._unwritten, None
            self._writer.add(*finished)
            if self._strategy.iteration % self._config.checkpoint.every == 0:
                self._writer.checkpoint(self._strategy)
            else:
                self._writer.write()

    def _finish(self) -> None:
        """Write everything that is finished."""
        self._write_last()
        if self._strategy.iteration not in self._writer.checkpoints.iterations():
            self._writer.checkpoint(self._strategy)


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Note SIGINT and SIGTERM instead of dying by them; a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may take signals: whoever runs that one decides.
        yield lambda: False
        return
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
