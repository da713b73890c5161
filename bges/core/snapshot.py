"""Policies worth keeping: parameters with what normalises their observations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.core.state import Arrays, part, prefixed
from bges.moments import Moments


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A policy as it was at some time."""

    theta: NDArray[np.float64]
    moments: Moments | None

    def arrays(self) -> Arrays:
        moments = {} if self.moments is None else self.moments.to_arrays()
        return {"theta": self.theta} | prefixed("moments", moments)

    @classmethod
    def restored(cls, arrays: Arrays) -> "Snapshot":
        return cls(**_fields(arrays))


@dataclass(frozen=True, kw_only=True)
class Scored(Snapshot):
    """A policy with the score of its evaluation, and the iteration of that."""

    score: float
    iteration: int

    def values(self) -> dict[str, Any]:
        return {"score": self.score, "iteration": self.iteration}

    @classmethod
    def of(cls, values: dict[str, Any] | None, arrays: Arrays) -> "Scored | None":
        """From `values()` and `arrays()`; None where there was none."""
        return None if values is None else cls(**values, **_fields(arrays))


def _fields(arrays: Arrays) -> dict[str, Any]:
    return {"theta": np.array(arrays["theta"], float), "moments": Moments.restored(part(arrays, "moments"))}
