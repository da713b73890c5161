"""What a worker brings back from sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.core.work import Outcome
from bges.moments import Moments
from bges.stochastic import Float32

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Sample(Outcome):
    """k slots of T steps.

    `inputs` (k, T, i) is what the policy saw, normalised; `actions` (k, T, a) before they were brought into their
    bounds, or (k, T) numbers of discrete ones; `rewards`, `terminated`, `finished` (k, T), the last of which is
    also true where the time limit was reached. `finals` (e, i) is what the policy would have seen after each
    finished or cut episode, slot by slot. `embeddings` (f, d) and `returns` (f,) are those of the finished episodes
    in the same order, `seen` the moments of each slot's observations.
    """

    CHECKED = ("inputs", "actions", "rewards", "finals", "embeddings")

    inputs: Float32
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    terminated: Bools
    finished: Bools
    finals: Float32
    embeddings: Float32
    returns: NDArray[np.float64]
    seen: tuple[Moments, ...]

    @property
    def ended(self) -> Bools:
        """Where an episode finished or was cut."""
        ended = self.finished.copy()
        ended[:, -1] = True
        return ended

    @property
    def nbytes(self) -> int:
        arrays = (self.inputs, self.actions, self.rewards, self.terminated, self.finished, self.finals)
        return sum(array.nbytes for array in arrays) + self.embeddings.nbytes + self.returns.nbytes


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """All slots of an iteration, in the order of their numbers; fields as in `Sample`."""

    inputs: Float32
    following: Float32
    actions: NDArray[Any]
    rewards: NDArray[np.float64]
    terminated: Bools
    finished: Bools
    ended: Bools
    embeddings: Float32
    returns: NDArray[np.float64]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> "Rollouts":
        """`following` (k, T, i) is what comes after each step: of an episode's last step, what it ended with."""
        ended, inputs = (np.concatenate([getattr(s, name) for s in samples]) for name in ("ended", "inputs"))
        following = np.roll(inputs, -1, axis=1)
        following[ended] = np.concatenate([s.finals for s in samples])
        found = [s.embeddings for s in samples if len(s.embeddings)] or [samples[0].embeddings]
        names = ("actions", "rewards", "terminated", "finished", "returns")
        rest = {name: np.concatenate([getattr(s, name) for s in samples]) for name in names}
        return cls(inputs=inputs, following=following, ended=ended, embeddings=np.concatenate(found), **rest)

    def episodes(self) -> NDArray[np.int64]:
        """The number of the finished episode that each step (k, T) belongs to; -1 where it was cut."""
        numbers = np.full(self.rewards.shape, -1)
        count = 0
        for slot, finished in enumerate(self.finished):
            first = 0
            for last in np.flatnonzero(finished):
                numbers[slot, first : last + 1] = count
                first, count = int(last) + 1, count + 1
        return numbers
