"""One policy that is improved by what it earns."""

import numpy as np
from numpy.typing import NDArray

from bges.core.optimizers import Adam
from bges.core.snapshot import Snapshot
from bges.core.state import Arrays, part, prefixed
from bges.evolution.shaping import zscore
from bges.moments import Moments

Array = NDArray[np.float64]
# Scores that are averaged when climbers are compared.
RECENT = 3


class Climber:
    """θ in double precision, with a σ and a step size.

    `trail` are the mean returns of its perturbations, `scores` those of its own evaluations and `endings` the mean
    rewards towards their ends. `ends` says that how episodes end counts as much as what they earn.
    """

    def __init__(self, theta: NDArray[np.floating], sigma: float, rate: float, *, ends: bool) -> None:
        self.theta = np.array(theta, np.float64)
        self.sigma, self.ends, self._rate = sigma, ends, rate
        self._optimizer = Adam(len(self.theta), self._rate, square_decay=0.99)
        self.trail: list[float] = []
        self.scores: list[float] = []
        self.endings: list[float] = []

    def weights(self, returns: Array, late: Array) -> Array:
        """What each perturbation weighs."""
        return zscore(zscore(returns) + zscore(late)) if self.ends else zscore(returns)

    def step(self, gradient: Array, share: float) -> None:
        """One step, of which only a share is taken."""
        self._optimizer.rate = self._rate * share
        self.theta = self.theta + self._optimizer.step(gradient)

    def stalled(self, patience: int) -> bool:
        """Whether the last `patience` iterations were no better than those before."""
        if len(self.trail) < 2 * patience:
            return False
        now, before = np.array(self.trail[-patience:]), np.array(self.trail[-2 * patience : -patience])
        return bool(now.mean() <= before.mean() + 0.5 * before.std())

    @property
    def recent_score(self) -> float:
        return _mean_of_last(self.scores)

    @property
    def recent_ending(self) -> float:
        return _mean_of_last(self.endings)

    def snapshot(self, moments: Moments | None) -> Snapshot:
        return Snapshot(theta=self.theta.copy(), moments=moments)

    def state(self) -> Arrays:
        numbers = {"sigma": self.sigma, "rate": self._rate, "ends": self.ends}
        own: Arrays = {name: np.array(value) for name, value in numbers.items()}
        own |= {"theta": self.theta, "trail": np.array(self.trail)}
        own |= {"scores": np.array(self.scores), "endings": np.array(self.endings)}
        return own | prefixed("optimizer", self._optimizer.state())

    @classmethod
    def restored(cls, arrays: Arrays) -> "Climber":
        sigma, rate = float(arrays["sigma"]), float(arrays["rate"])
        climber = cls(arrays["theta"].astype(float), sigma, rate, ends=bool(arrays["ends"]))
        climber.trail = arrays["trail"].tolist()
        climber.scores, climber.endings = arrays["scores"].tolist(), arrays["endings"].tolist()
        climber._optimizer.restore(part(arrays, "optimizer"))
        return climber


def _mean_of_last(numbers: list[float]) -> float:
    return float(np.mean(numbers[-RECENT:])) if numbers else float("-inf")
