"""What a batch of episodes left behind."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.checks import check_array
from bges.errors import InputError
from bges.moments import Moments

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True)
class Trajectories:
    """n episodes of at most H steps, padded after an early end: rewards by zeros, the rest by its last entry.

    `observations` (n, H+1, o) holds the first observation and the one after each step, `actions` (n, H, a) what was
    done, `rewards` (n, H), `lengths` (n,) the steps really taken. Either of the first two is absent when the rollout
    was told not to keep it; asking for it is then an error, not a None that travels. `final_observations` (n, o) is
    always there. `flags` holds what the environment said at the end of each episode, as (n,) booleans;
    `inputs` the moments of what the policies saw, where that was asked for.
    """

    rewards: Floats
    lengths: NDArray[np.int64]
    final_observations: Floats
    kept_observations: Floats | None = None
    kept_actions: Floats | None = None
    flags: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    inputs: Moments | None = None

    @classmethod
    def from_arrays(cls, *, observations: Any, actions: Any, rewards: Any, lengths: Any = None) -> "Trajectories":
        """Trajectories recorded elsewhere; entries after `lengths` are replaced by the padding rule."""
        rewards = check_array("rewards", rewards, (None, None)).copy()
        n, horizon = rewards.shape
        observations = check_array("observations", observations, (n, horizon + 1, None))
        actions = check_array("actions", actions, (n, horizon, None))
        lengths = np.full(n, horizon) if lengths is None else check_array("lengths", lengths, (n,), np.int64)
        if (lengths < 1).any() or (lengths > horizon).any():
            raise InputError(f"lengths must lie in 1..{horizon}, got {lengths.min()}..{lengths.max()}")
        return cls.padded(observations=observations, actions=actions, rewards=rewards, lengths=lengths)

    @classmethod
    def padded(cls, *, observations: Floats, actions: Floats, rewards: Floats, lengths: Any) -> "Trajectories":
        """As `from_arrays`, of arrays that are known to fit; `rewards` are changed in place."""
        horizon = rewards.shape[1]
        rewards[np.arange(horizon)[None, :] >= lengths[:, None]] = 0.0
        last = np.minimum(np.arange(horizon + 1)[None, :], lengths[:, None])
        observations = np.take_along_axis(observations, last[:, :, None], axis=1)
        actions = np.take_along_axis(actions, np.minimum(last[:, :-1], lengths[:, None] - 1)[:, :, None], axis=1)
        return cls(
            rewards=rewards,
            lengths=lengths,
            final_observations=observations[:, -1],
            kept_observations=observations,
            kept_actions=actions,
        )

    @property
    def observations(self) -> Floats:
        return _kept("observations", self.kept_observations)

    @property
    def actions(self) -> Floats:
        return _kept("actions", self.kept_actions)

    @property
    def returns(self) -> NDArray[np.float64]:
        """Total reward of each episode, (n,)."""
        return self.rewards.sum(axis=1, dtype=np.float64)

    @property
    def peaks(self) -> NDArray[np.float64]:
        """The highest reward of a single step of each episode, (n,)."""
        taken = np.arange(self.rewards.shape[1]) < self.lengths[:, None]
        return np.where(taken, self.rewards, -np.inf).max(axis=1)

    @property
    def late(self) -> NDArray[np.float64]:
        """The mean reward of the last tenth of each episode's steps, (n,)."""
        steps, lengths = np.arange(self.rewards.shape[1]), self.lengths
        tail = np.maximum(lengths // 10, 1)
        counted = (steps < lengths[:, None]) & (steps >= (lengths - tail)[:, None])
        means: NDArray[np.float64] = np.where(counted, self.rewards, 0.0).sum(axis=1) / tail
        return means

    def __len__(self) -> int:
        return len(self.lengths)


def _kept(name: str, array: Floats | None) -> Floats:
    if array is None:
        raise InputError(f"these trajectories were played without keeping {name}: ask for them with keep=")
    return array
