"""What plays the units of an iteration, and the simplest that does: this process."""

from collections.abc import Callable, Sequence
from typing import Protocol

from bges.core.player import Player
from bges.core.work import Context, Outcome, Unit
from bges.errors import Interrupted


class Pool(Protocol):
    """Workers of some kind, with counts of what happened to them since the beginning."""

    lost_chunks: int
    context_sends: int

    @property
    def workers(self) -> int: ...

    def run(self, units: Sequence[Unit], context: Context, meanwhile: Callable[[], None] = ...) -> list[Outcome]:
        """Results of all units, in no order; `meanwhile` is called once."""


class InlinePool:
    """One unit after the other, here; `stopped` ends it between two."""

    def __init__(self, player: Player, stopped: Callable[[], bool]) -> None:
        self._player, self._stopped = player, stopped
        self.workers = 1
        self.lost_chunks = 0
        self.context_sends = 0

    def run(
        self, units: Sequence[Unit], context: Context, meanwhile: Callable[[], None] = lambda: None
    ) -> list[Outcome]:
        meanwhile()
        results = []
        for unit in units:
            if self._stopped():
                raise Interrupted("resume it with --resume")
            result = self._player.play(context, unit)
            result.check()
            results.append(result)
        return results
