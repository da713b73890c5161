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
    """θ in double precision, with a σ and a step size in proportion to the parameters it began with.

    `trail` are the mean returns of its perturbations, `scores` those of its own evaluations. `ends` says that how
    episodes end counts as much as what they earn.
    """

    def __init__(self, theta: NDArray[np.floating], sigma: float, rate: float, *, ends: bool) -> None:
        self.theta = np.array(theta, np.float64)
        size = float(np.sqrt(np.mean(np.square(self.theta)))) or 1.0
        self.sigma, self.ends = sigma * size, ends
        self._rate = rate * size
        self._optimizer = Adam(len(self.theta), self._rate, square_decay=0.99)
        self.trail: list[float] = []
        self.scores: list[float] = []

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
    def recent(self) -> float:
        return float(np.mean(self.scores[-RECENT:])) if self.scores else float("-inf")

    def snapshot(self, moments: Moments | None) -> Snapshot:
        return Snapshot(theta=self.theta.copy(), moments=moments)

    def state(self) -> Arrays:
        numbers = {"sigma": self.sigma, "rate": self._rate, "ends": self.ends}
        own: Arrays = {name: np.array(value) for name, value in numbers.items()}
        own |= {"theta": self.theta, "trail": np.array(self.trail), "scores": np.array(self.scores)}
        return own | prefixed("optimizer", self._optimizer.state())

    @classmethod
    def restored(cls, arrays: Arrays) -> "Climber":
        climber = cls(arrays["theta"].astype(float), 1.0, 1.0, ends=bool(arrays["ends"]))
        climber.sigma, climber._rate = float(arrays["sigma"]), float(arrays["rate"])
        climber.trail, climber.scores = arrays["trail"].tolist(), arrays["scores"].tolist()
        climber._optimizer.restore(part(arrays, "optimizer"))
        return climber
