"""A rollout worker: plays chunks and knows nothing of the optimiser."""

import pickle

from bges.algorithms import Shared, make_player
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Unit


class RolloutActor:
    """What runs in a Ray actor. The context of an iteration comes with the first unit that needs it."""

    def __init__(self, problem: Problem, shared: Shared) -> None:
        self._player = make_player(problem, shared)
        self._context: Context | None = None

    def ready(self) -> bool:
        """Answer once the environment is built."""
        return True

    def play(self, unit: bytes, context: bytes | None) -> bytes:
        """`outcome` of pickled values: Ray passes bytes on as they are and needs much longer for objects."""
        return pack(self.outcome(pickle.loads(unit), None if context is None else pickle.loads(context)))

    def outcome(self, unit: Unit, context: Context | None) -> Outcome:
        if context is not None:
            self._context = context
        assert self._context is not None
        assert self._context.iteration == unit.iteration
        result = self._player.play(self._context, unit)
        result.check()
        return result


def pack(value: object) -> bytes:
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
