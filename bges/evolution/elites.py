"""Policies worth remembering: the best one, and good ones that behave differently."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bges.evolution.members import Array, Arrays, moments_of, part
from bges.moments import Moments


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A policy: its parameters and what normalises its observations."""

    theta: Array
    moments: Moments | None

    def arrays(self) -> Arrays:
        moments = {} if self.moments is None else self.moments.to_arrays()
        return {"theta": self.theta} | {f"moments/{name}": array for name, array in moments.items()}

    @classmethod
    def parts(cls, arrays: Arrays) -> dict[str, Any]:
        return {"theta": np.array(arrays["theta"], float), "moments": moments_of(part(arrays, "moments"))}


@dataclass(frozen=True, kw_only=True)
class Best(Candidate):
    """A policy with the score of its evaluation."""

    score: float
    iteration: int


class _Elite(NamedTuple):
    policy: Best
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
    def policies(self) -> list[Best]:
        return [elite.policy for elite in self._kept]

    def offer(self, policy: Best, merit: float, behavior: Array) -> None:
        seen = Moments.of(behavior[None])
        self._spread = seen if self._spread is None else self._spread.merge(seen)
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
        arrays: Arrays = {f"spread/{name}": array for name, array in self._spread.to_arrays().items()}
        for i, elite in enumerate(self._kept):
            own: dict[str, NDArray[np.generic]] = elite.policy.arrays()
            own |= {"behavior": elite.behavior, "merit": np.array(elite.merit)}
            own |= {"score": np.array(elite.policy.score), "iteration": np.array(elite.policy.iteration)}
            arrays |= {f"{i}/{name}": array for name, array in own.items()}
        return arrays

    def restore(self, arrays: Arrays) -> None:
        self._spread = moments_of(part(arrays, "spread"))
        self._kept = []
        while own := part(arrays, str(len(self._kept))):
            policy = Best(score=float(own["score"]), iteration=int(own["iteration"]), **Candidate.parts(own))
            self._kept.append(_Elite(policy, float(own["merit"]), np.array(own["behavior"], float)))
