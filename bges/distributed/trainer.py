"""Training on Ray."""

import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from bges.algorithms import make_learner, make_player
from bges.config.run import RunConfig
from bges.core.player import Player
from bges.core.problem import Problem
from bges.distributed.gauges import Gauges
from bges.distributed.session import Session, check_address, ray_session
from bges.distributed.shipping import ship_by_value
from bges.runs.directory import Run
from bges.training.loop import Loop, Progress, prepared

SECONDS_BETWEEN_CHECKS = 0.5


def run_training(
    config: RunConfig,
    out: Path,
    *,
    resume: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Make the run that `config` describes in the directory `out`, or resume the one in it."""
    check_address(address)
    problem = Problem.of(config)
    with closing(make_player(problem)) as player:
        learner = make_learner(player)
    learner.delegates = True
    with ExitStack() as stack:
        connect = partial(ray_session, address, player.shared.nbytes)
        # A cluster that does not answer leaves no directory behind; an embedded one is not started for a bad directory.
        session = None if address is None else stack.enter_context(connect())
        loop = stack.enter_context(prepared(config, out, learner, resume=resume, progress=progress))
        if not learner.done:
            session = session or stack.enter_context(connect())
            cluster = _Cluster(problem, player, session, loop)
            stack.callback(cluster.pool.close)
            if session.dashboard:
                loop.listeners.append(Gauges(out.name).update)
            loop.run(cluster.pool)
        else:
            loop.finish()
    return Run(out)


class _Cluster:
    """The workers of a run on Ray, as many as are wanted at any time."""

    def __init__(self, problem: Problem, player: Player, session: Session, loop: Loop) -> None:
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
        """A few times a second: was a stop or another number of workers requested?"""
        if self._loop.stopped():
            return True
        if time.monotonic() - self._checked > SECONDS_BETWEEN_CHECKS:
            self._checked = time.monotonic()
            self._workers = self._loop.writer.asked_workers() or self._workers
            wanted = self._wanted()
            if wanted != self.pool.workers:
                self.pool.resize(wanted)
        return False
