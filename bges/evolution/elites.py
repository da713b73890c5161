"""Good policies that behave differently."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bges.core.snapshot import Scored
from bges.core.state import Arrays, part, prefixed
from bges.moments import Moments

Array = NDArray[np.float64]


class _Elite(NamedTuple):
    policy: Scored
    merit: float
    behavior: Array


class Elites:
    """Up to `size` policies in the order of their merits, no two of which behave alike.

    Two behave alike when their mean embeddings differ by less than `separation`, as a root mean square in units of
    each coordinate's spread over all policies offered so far.
    """

    def __init__(self, size: int, separation: float) -> None:
        self._size, self._separation = size, separation
        self._spread: Moments | None = None
        self._kept: list[_Elite] = []

    @property
    def policies(self) -> list[Scored]:
        return [elite.policy for elite in self._kept]

    def offer(self, policy: Scored, merit: float, behavior: Array) -> None:
        self._spread = Moments.merged(self._spread, Moments.of(behavior[None]))
        ranked = sorted([*self._kept, _Elite(policy, merit, behavior)], key=lambda elite: -elite.merit)
        self._kept = []
        for one in ranked:
            if len(self._kept) < self._size and all(self._differ(one.behavior, o.behavior) for o in self._kept):
                self._kept.append(one)

    def _differ(self, one: Array, other: Array) -> bool:
        assert self._spread is not None
        return float(np.sqrt(np.mean(np.square((one - other) / self._spread.std)))) >= self._separation

    def state(self) -> Arrays:
        if self._spread is None:
            return {}
        arrays = prefixed("spread", self._spread.to_arrays())
        for i, elite in enumerate(self._kept):
            numbers = {name: np.array(value) for name, value in elite.policy.values().items()}
            own = elite.policy.arrays() | numbers | {"behavior": elite.behavior, "merit": np.array(elite.merit)}
            arrays |= prefixed(str(i), own)
        return arrays

    def restore(self, arrays: Arrays) -> None:
        self._spread = Moments.restored(part(arrays, "spread"))
        self._kept = []
        while own := part(arrays, str(len(self._kept))):
            values = {"score": float(own["score"]), "iteration": int(own["iteration"])}
            policy = Scored.of(values, own)
            assert policy is not None
            self._kept.append(_Elite(policy, float(own["merit"]), np.array(own["behavior"], float)))
