"""What comes of sampling: of one unit, and of all units of an iteration together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.core.work import Outcome
from bges.gradient.episodes import Bools
from bges.moments import Moments
from bges.stochastic import Float32


@dataclass(frozen=True, kw_only=True)
class Sampled(Outcome):
    """What `Sample` gives: T steps of each of k environments.

    `inputs` (k, T, i) is what the policy saw, normalised; `actions` (k, T, a) before they were brought into their
    bounds, or (k, T) numbers of discrete ones; `rewards`, `terminated`, `finished` (k, T), the last of which is
    also true where the time limit was reached. `finals` (e, i) is what the policy would have seen after each
    finished or cut episode, environment by environment. `embeddings` (f, d) and `returns` (f,) are those of the
    finished episodes in the same order, `seen` the moments of each environment's observations.
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
    def nbytes(self) -> int:
        arrays = (self.inputs, self.actions, self.rewards, self.terminated, self.finished, self.finals)
        return sum(array.nbytes for array in arrays) + self.embeddings.nbytes + self.returns.nbytes


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """All environments of an iteration, in the order of their numbers; fields as in `Sampled`.

    `following` (k, T, i) is what comes after each step: of an episode's last step, what it ended with. `ended` (k, T)
    says where an episode finished or was cut.
    """

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
    def of(cls, samples: Sequence[Sampled]) -> "Rollouts":
        names = ("inputs", "actions", "rewards", "terminated", "finished", "returns")
        joined = {name: np.concatenate([getattr(s, name) for s in samples]) for name in names}
        ended = ends(joined["finished"])
        following = np.roll(joined["inputs"], -1, axis=1)
        following[ended] = np.concatenate([s.finals for s in samples])
        # Where no episode finished, the dimension of the embeddings is not known.
        embeddings = [s.embeddings for s in samples if len(s.embeddings)] or [samples[0].embeddings]
        return cls(following=following, ended=ended, embeddings=np.concatenate(embeddings), **joined)


def ends(finished: Bools) -> Bools:
    """Where episodes finished, or were cut because the sampling ended."""
    ended = finished.copy()
    ended[:, -1] = True
    return ended
