"""A pool of rollout workers that loses nothing: chunks of lost workers are played again elsewhere."""

import contextlib
import math
import pickle
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from bges.config.common import FaultsConfig
from bges.core.work import Context, Outcome, Unit
from bges.distributed.actor import pack
from bges.errors import BgesError, Interrupted, RunError

# One chunk runs while the next already waits at the worker, so that it never idles between two.
DEPTH = 2
LARGE_CONTEXT = 100_000
DIED = (
    "the worker's process ended while it played: was it killed, did memory run out, or did the environment end it "
    "(os._exit, a crash of native code)? Ray says:"
)


@dataclass
class _Task:
    unit: Unit
    attempts: int = 0


@dataclass(eq=False)
class _Slot:
    """A worker and the chunks it has, the running one first; `failures` counts its predecessors that did not start."""

    actor: Any
    starting: Any
    since: float
    failures: int = 0
    queue: deque[tuple[Any, _Task]] = field(default_factory=deque)
    context: tuple[int, str] | None = None
    retiring: bool = False

    @property
    def ready(self) -> bool:
        return self.starting is None


class WorkerPool:
    """`run` plays an iteration's units on the workers there are; `resize` may be called at any time.

    `make_actor` starts a worker. `check` is called a few times a second while results are awaited: it may resize the
    pool, and by returning True ends the wait with `Interrupted`. `say` is told what a user should know.
    """

    def __init__(
        self,
        make_actor: Callable[[], Any],
        workers: int,
        faults: FaultsConfig,
        check: Callable[[], bool],
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._make_actor, self._faults, self._check, self._say = make_actor, faults, check, say
        self._waits = False
        self._slots: list[_Slot] = []
        self._pending: deque[_Task] = deque()
        self._context: Context | None = None
        self._shared: Any = None
        self.lost_chunks = 0
        self.lost_workers = 0
        self.context_sends = 0
        self.resize(workers)

    @property
    def workers(self) -> int:
        """Workers that are ready or starting."""
        return sum(not slot.retiring for slot in self._slots)

    def resize(self, workers: int) -> None:
        """Grow at once; shrink by letting those that have not started go, then the youngest when they have finished."""
        surplus = self.workers - workers
        order = self._slots[::-1]
        order.sort(key=lambda slot: slot.ready)
        for slot in order:
            if surplus > 0 and not slot.retiring:
                slot.retiring = True
                surplus -= 1
        for _ in range(-surplus):
            self._slots.append(self._start())
        self._drop_retired()

    def run(
        self, units: Sequence[Unit], context: Context, meanwhile: Callable[[], None] = lambda: None
    ) -> list[Outcome]:
        """Results of all units, in no order; `meanwhile` is called once, when the workers have been set to work."""
        self._context = context
        packed = pack(context)
        self._shared = ray.put(packed) if len(packed) > LARGE_CONTEXT else packed
        self._pending = deque(_Task(unit) for unit in units)
        results: dict[int, Outcome] = {}
        self._dispatch()
        meanwhile()
        try:
            while len(results) < len(units):
                if self._check():
                    raise Interrupted("resume it with --resume")
                self._dispatch()
                for result in self._harvest():
                    results[result.unit.index] = result
                self._enforce_deadlines()
        except BgesError:
            self._abandon()
            raise
        return list(results.values())

    def close(self) -> None:
        for slot in self._slots:
            _kill(slot.actor)
        self._slots = []

    def _start(self, failures: int = 0) -> _Slot:
        actor = self._make_actor()
        return _Slot(actor=actor, starting=actor.ready.remote(), since=time.monotonic(), failures=failures)

    def _dispatch(self) -> None:
        """Give waiting chunks to the workers with the fewest; an idle worker takes one that waits at a busy one."""
        ready = [slot for slot in self._slots if slot.ready and not slot.retiring]
        if not self._enough(len(ready)):
            return
        for chunks in range(DEPTH):
            for slot in ready:
                if self._pending and len(slot.queue) == chunks:
                    self._send(slot, self._pending.popleft())
        if self._pending:
            return
        for idle in ready:
            if not idle.queue:
                busy = max(ready, key=lambda slot: len(slot.queue))
                if len(busy.queue) < DEPTH:
                    return
                ref, task = busy.queue.pop()
                ray.cancel(ref)
                self._send(idle, task)

    def _enough(self, ready: int) -> bool:
        """Whether there are enough workers to continue; reports when that changes."""
        least = self._faults.min_workers
        if ready < least and not self._waits:
            self._say(f"waiting for workers: {ready} ready, faults.min_workers is {least}")
        elif ready >= least and self._waits:
            self._say(f"continuing with {ready} workers")
        self._waits = ready < least
        return not self._waits

    def _send(self, slot: _Slot, task: _Task) -> None:
        assert self._context is not None
        context = None
        if slot.context != self._context.key:
            context, slot.context = self._shared, self._context.key
            self.context_sends += 1
        if not slot.queue:
            slot.since = time.monotonic()
        slot.queue.append((slot.actor.play.remote(pack(task.unit), context), task))

    def _harvest(self) -> list[Outcome]:
        """Wait a little for workers and take what has come."""
        refs = [slot.starting for slot in self._slots if not slot.ready]
        refs += [slot.queue[0][0] for slot in self._slots if slot.queue]
        if not refs:
            time.sleep(0.05)
            return []
        done, _ = ray.wait(refs, num_returns=1, timeout=0.25)
        if done and len(refs) > 1:
            done, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        arrived = set(done)
        results: list[Outcome] = []
        for slot in list(self._slots):
            if not slot.ready and slot.starting in arrived:
                self._has_started(slot)
            elif slot.queue and slot.queue[0][0] in arrived:
                result = self._take(slot)
                if result is not None:
                    results.append(result)
        self._drop_retired()
        return results

    def _has_started(self, slot: _Slot) -> None:
        try:
            ray.get(slot.starting)
        except RayError as error:
            # Counted for each place: a lost node takes many starting workers with it, each of them once.
            if slot.failures + 1 >= self._faults.attempts:
                raise RunError(f"workers cannot start:\n{plain(error)}") from None
            self._replace(slot, failures=slot.failures + 1)
            return
        slot.starting = None

    def _take(self, slot: _Slot) -> Outcome | None:
        """The result of a worker's first chunk; a failure replaces the worker and plays its chunks elsewhere."""
        ref, task = slot.queue[0]
        try:
            result: Outcome = pickle.loads(ray.get(ref))
        except RayTaskError as error:
            # What our own code says of a failure is all that there is to say.
            self._lose(slot, task, str(error.cause) if isinstance(error.cause, BgesError) else plain(error))
            return None
        except RayActorError as error:
            self._lose(slot, task, f"{DIED}\n{plain(error)}")
            return None
        except RayError as error:
            self._lose(slot, task, f"the result was lost: {plain(error)}")
            return None
        slot.queue.popleft()
        slot.since = time.monotonic()
        return result

    def _lose(self, slot: _Slot, task: _Task, failure: str) -> None:
        """Only the running chunk is charged with the failure; those behind it had no part in it."""
        self.lost_chunks += 1
        task.attempts += 1
        if task.attempts >= self._faults.attempts:
            raise RunError(f"{failure}\n({task.unit}: failed {task.attempts} times)")
        self._pending.extendleft(task for _, task in reversed(slot.queue))
        slot.queue.clear()
        self._replace(slot)

    def _replace(self, slot: _Slot, failures: int = 0) -> None:
        _kill(slot.actor)
        place = self._slots.index(slot)
        self.lost_workers += 1
        if slot.retiring:
            del self._slots[place]
        else:
            self._slots[place] = self._start(failures)

    def _enforce_deadlines(self) -> None:
        now = time.monotonic()
        for slot in list(self._slots):
            if slot.ready and slot.queue and now - slot.since > self._faults.chunk_seconds:
                seconds = self._faults.chunk_seconds
                self._lose(slot, slot.queue[0][1], f"the worker did not answer within {seconds:g} s")
        waiting = [slot for slot in self._slots if not slot.ready]
        limit = math.inf if self._faults.min_workers else self._faults.start_seconds
        if waiting == self._slots and now - max(slot.since for slot in waiting) > limit:
            raise RunError(f"no worker could be started in {limit:g} s: does the cluster have free CPUs?")

    def _drop_retired(self) -> None:
        for slot in [slot for slot in self._slots if slot.retiring and not slot.queue]:
            _kill(slot.actor)
            self._slots.remove(slot)

    def _abandon(self) -> None:
        for slot in self._slots:
            slot.queue.clear()
        self._pending.clear()


def plain(error: RayError) -> str:
    """Its text without the colours that Ray puts in."""
    return re.sub(r"\x1b\[\d*m", "", str(error)).strip()


def _kill(actor: Any) -> None:
    # A dead actor cannot be killed twice, and that is all that can go wrong here.
    with contextlib.suppress(RayError):
        ray.kill(actor, no_restart=True)
