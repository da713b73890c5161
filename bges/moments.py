"""Running mean and variance that can be merged in any grouping and stored as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NO_SPREAD = 1e-12


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Count, mean (d,) and sum of squared deviations (d,) of the rows seen so far."""

    count: float
    mean: Array
    m2: Array

    @classmethod
    def empty(cls, size: int) -> Self:
        return cls(count=0.0, mean=np.zeros(size), m2=np.zeros(size))

    @classmethod
    def of(cls, rows: Any) -> Self:
        """Moments of rows (n, d), n >= 0."""
        rows = np.asarray(rows, np.float64)
        if len(rows) == 0:
            return cls.empty(rows.shape[1])
        mean = rows.mean(axis=0)
        return cls(count=float(len(rows)), mean=mean, m2=np.square(rows - mean).sum(axis=0))

    @classmethod
    def merged(cls, one: Self | None, other: Self | None) -> Self | None:
        """Of both; None stands for nothing seen yet."""
        if one is None or other is None:
            return one if other is None else other
        return one.merge(other)

    def merge(self, other: Self) -> Self:
        """Moments of both sets of rows (Chan et al.); the order matters in the last bit, so callers fix it."""
        if other.count == 0:
            return self
        if self.count == 0:
            return other
        count = self.count + other.count
        delta = other.mean - self.mean
        return type(self)(
            count=count,
            mean=self.mean + delta * (other.count / count),
            m2=self.m2 + other.m2 + np.square(delta) * (self.count * other.count / count),
        )

    @property
    def std(self) -> Array:
        """Standard deviation (d,), or 1 where nothing varied yet, so that dividing by it changes nothing."""
        std = np.sqrt(self.m2 / max(self.count, 1.0))
        # Rounding leaves a constant coordinate with a spread of about 1e-16 of its size.
        return np.where(std > NO_SPREAD * np.abs(self.mean), std, 1.0)

    def standardize(self, rows: Any) -> Array:
        result: Array = (np.asarray(rows, np.float64) - self.mean) / self.std
        return result

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        return {"count": np.array(self.count), "mean": self.mean, "m2": self.m2}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        mean, m2 = (np.array(arrays[name], np.float64) for name in ("mean", "m2"))
        return cls(count=float(arrays["count"]), mean=mean, m2=m2)

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self | None:
        """Of `to_arrays`, or None of no arrays."""
        return cls.from_arrays(arrays) if arrays else None
