"""Policies spread over behaviour space, whatever its dimension: no grid to choose."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bges.core.state import Arrays

Array = NDArray[np.float64]
FIELDS = ("thetas", "behaviors", "scores", "late", "peaks")


@dataclass(kw_only=True)
class PolicyArchive:
    """At most `size` policies; of the two that behave most alike the worse one goes.

    Rows of `thetas` (n, d), `behaviors` (n, k), `scores`, `late` and `peaks` (n,), in the order in which they came.
    Distances are in units of the archive's own spread of each coordinate.
    """

    size: int
    neighbors: int
    thetas: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    behaviors: Array = field(default_factory=lambda: np.zeros((0, 0)))
    scores: Array = field(default_factory=lambda: np.zeros(0))
    late: Array = field(default_factory=lambda: np.zeros(0))
    peaks: Array = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def spread(self) -> Array:
        """The standard deviation of each coordinate; 1 where all are equal."""
        spread = self.behaviors.std(axis=0)
        # Behaviours come in single precision: less than that is no difference.
        varies = spread > 1e-6 * (1.0 + np.abs(self.behaviors.mean(axis=0)))
        return np.where(varies, spread, 1.0)

    def add(self, thetas: NDArray[np.float32], behaviors: Array, scores: Array, late: Array, peaks: Array) -> None:
        new = {"thetas": thetas, "behaviors": behaviors, "scores": scores, "late": late, "peaks": peaks}
        known = len(self)
        for name in FIELDS:
            setattr(self, name, np.concatenate([getattr(self, name), new[name]]) if known else new[name])
        if len(self) > self.size:
            kept = self._survivors()
            for name in FIELDS:
                setattr(self, name, getattr(self, name)[kept])

    def novelty(self) -> Array:
        """The mean distance of each policy's behaviour from its nearest neighbours'."""
        squares = self._squares()
        count = min(self.neighbors, len(self) - 1)
        if count == 0:
            return np.ones(len(self))
        nearest = np.partition(squares, count - 1, axis=1)[:, :count]
        means: Array = np.sqrt(nearest).mean(axis=1)
        return means

    def apart(self, one: Array, other: Array) -> float:
        """The root mean square difference of two behaviours."""
        return float(np.sqrt(np.mean(np.square((one - other) / self.spread))))

    def _squares(self) -> Array:
        """Squared distances between all policies, infinite from each to itself."""
        points = (self.behaviors - self.behaviors.mean(axis=0)) / self.spread
        own = np.square(points).sum(axis=1)
        squares: Array = np.maximum(own[:, None] + own - 2.0 * points @ points.T, 0.0)
        np.fill_diagonal(squares, np.inf)
        return squares

    def _survivors(self) -> NDArray[np.intp]:
        squares = self._squares()
        alive = np.ones(len(squares), np.bool_)
        nearest = squares.argmin(axis=1)
        distance = squares[np.arange(len(squares)), nearest]
        for _ in range(len(squares) - self.size):
            one = int(distance.argmin())
            other = int(nearest[one])
            gone = one if self.scores[one] <= self.scores[other] else other
            alive[gone], distance[gone], squares[:, gone] = False, np.inf, np.inf
            bereft = np.flatnonzero((nearest == gone) & alive)
            nearest[bereft] = squares[bereft].argmin(axis=1)
            distance[bereft] = squares[bereft, nearest[bereft]]
        return np.flatnonzero(alive)

    def state(self) -> Arrays:
        return {name: getattr(self, name) for name in FIELDS}

    def restore(self, arrays: Arrays) -> None:
        for name in FIELDS:
            setattr(self, name, np.array(arrays[name]))
