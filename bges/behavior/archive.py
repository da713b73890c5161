"""The archive of NSR-ES: behaviours seen so far, and how far a new one is from its nearest."""

from typing import Any

import numpy as np

from bges.behavior.costs import Floats
from bges.behavior.states import Arrays, pack, unpack
from bges.checks import check_array, check_whole
from bges.errors import InputError

KIND = "NoveltyArchive"
# Rows of the archive compared at once: the block of distances stays in the cache.
BLOCK = 4096


class NoveltyArchive:
    """Points (n, dim) in the order they came; novelty is the mean distance to the `neighbors` nearest of them."""

    def __init__(self, dim: int, neighbors: int = 10) -> None:
        self.dim = check_whole("dim", dim)
        self.neighbors = check_whole("neighbors", neighbors)
        self._buffer: Floats = np.empty((64, dim))
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def points(self) -> Floats:
        """All points (n, dim), read-only."""
        view = self._buffer[: self._size]
        view.flags.writeable = False
        return view

    def add(self, points: Any) -> None:
        """Append points (n, dim)."""
        points = check_array("points", points, (None, self.dim))
        size = self._size + len(points)
        if size > len(self._buffer):
            grown = np.empty((max(size, 2 * len(self._buffer)), self.dim))
            grown[: self._size] = self._buffer[: self._size]
            self._buffer = grown
        self._buffer[self._size : size] = points
        self._size = size

    def novelty(self, points: Any) -> Floats:
        """Mean Euclidean distance of points (n, dim) to the nearest in the archive (all, if there are fewer)."""
        points = check_array("points", points, (None, self.dim))
        if not self._size:
            raise InputError("the archive is empty: add points before asking for novelty")
        nearest = self._nearest(points)
        # The search's distances lose digits to cancellation, so those of the chosen ones are taken again.
        difference = points[:, None] - self._buffer[nearest]
        means: Floats = np.sqrt(np.square(difference).sum(axis=2)).mean(axis=1)
        return means

    def _nearest(self, points: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Rows of the nearest points, (n, k)."""
        k = min(self.neighbors, self._size)
        centre = self._buffer[: self._size].mean(axis=0)
        queries = -2.0 * (points - centre)
        best = np.empty((len(points), 0))
        rows = np.empty((len(points), 0), dtype=np.int64)
        for start in range(0, self._size, BLOCK):
            block = self._buffer[start : min(start + BLOCK, self._size)] - centre
            # ‖q‖² is the same for the whole row and does not change who is nearest.
            distances = queries @ block.T
            distances += np.einsum("ij,ij->i", block, block)
            here = _smallest(distances, k)
            best = np.concatenate([best, np.take_along_axis(distances, here, axis=1)], axis=1)
            rows = np.concatenate([rows, here + start], axis=1)
            keep = _smallest(best, k)
            best = np.take_along_axis(best, keep, axis=1)
            rows = np.take_along_axis(rows, keep, axis=1)
        return rows

    def state(self) -> Arrays:
        """Points and settings, as arrays."""
        settings = {"kind": KIND, "dim": self.dim, "neighbors": self.neighbors}
        return pack(settings, {"archive": {"points": self.points.copy()}})

    @classmethod
    def from_state(cls, state: Arrays) -> "NoveltyArchive":
        settings, parts = unpack(state, KIND)
        archive = cls(settings["dim"], settings["neighbors"])
        archive.add(parts["archive"]["points"])
        return archive


def _smallest(values: Floats, k: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Columns of the k smallest of each row, or of all."""
    if values.shape[1] <= k:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape).copy()
    return np.argpartition(values, k - 1, axis=1)[:, :k]
