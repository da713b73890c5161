"""Axis-aligned boxes on the plane: what a body that moves among them runs into, and the shortest way round them."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Ways along the side of a box touch it and do not cross it.
TOUCH = 1e-9


class Boxes:
    """Walls with lower corners `low` and upper corners `high`, each (w, 2)."""

    def __init__(self, low: Array, high: Array) -> None:
        self.low, self.high = np.asarray(low, np.float64), np.asarray(high, np.float64)

    def grown(self, margin: float) -> "Boxes":
        """Walls for the centre of a body that keeps `margin` away from these on each axis."""
        return Boxes(self.low - margin, self.high + margin)

    def slide(self, positions: Array, moves: Array) -> Array:
        """Where points (n, 2) get to by `moves` (n, 2), first along x, then along y, each as far as the walls let them.

        Whatever the length of a move, nothing is passed through.
        """
        after = np.empty((2, len(positions)))
        after[:] = positions.T
        low, high = self.low.T[:, :, None], self.high.T[:, :, None]
        for axis in (0, 1):
            here, across = after[axis], after[1 - axis]
            beside = (low[1 - axis] < across) & (across < high[1 - axis])
            ahead, behind = beside & (low[axis] >= here), beside & (high[axis] <= here)
            most = np.where(ahead, low[axis], np.inf).min(axis=0, initial=np.inf)
            least = np.where(behind, high[axis], -np.inf).max(axis=0, initial=-np.inf)
            after[axis] = np.minimum(np.maximum(here + moves[:, axis], least), most)
        return after.T.copy()

    def contain(self, points: Array) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie inside some box, (n,)."""
        points = points[:, None]
        inside = (points > self.low + TOUCH) & (points < self.high - TOUCH)
        return np.any(np.all(inside, axis=2), axis=1)

    def block(self, starts: Array, ends: Array) -> NDArray[np.bool_]:
        """Whether the straight lines from `starts` to `ends`, each (n, 2), cross the inside of some box, (n,)."""
        starts, along = starts[:, None], (ends - starts)[:, None]
        # A tiny slope in place of none: a division by zero would leave out boxes that begin where the line is.
        along = np.where(np.abs(along) < TOUCH**2, TOUCH**2, along)
        one, other = (self.low + TOUCH - starts) / along, (self.high - TOUCH - starts) / along
        enter, leave = np.minimum(one, other).max(axis=2), np.maximum(one, other).min(axis=2)
        return np.any(np.maximum(enter, 0.0) < np.minimum(leave, 1.0), axis=1)

    def shortest_way(self, start: Array, goal: Array) -> Array | None:
        """The corners (k, 2) of the shortest way from `start` to `goal`, both included; None when there is no way.

        Exact: shortest ways among boxes turn at their corners only, and all lines between these are looked at.
        """
        low, high = self.low, self.high
        corners = np.concatenate(
            [low, high, np.stack([low[:, 0], high[:, 1]], 1), np.stack([high[:, 0], low[:, 1]], 1)]
        )
        places = np.concatenate([[start, goal], corners[~self.contain(corners)]])
        n = len(places)
        pairs = np.triu_indices(n, 1)
        lengths = np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=1)
        steps = np.full((n, n), np.inf)
        steps[pairs] = np.where(self.block(places[pairs[0]], places[pairs[1]]), np.inf, lengths)
        steps = np.minimum(steps, steps.T)
        # Dijkstra's algorithm from the goal, so that the way reads off forwards.
        distance, following = np.full(n, np.inf), np.zeros(n, np.int64)
        distance[1], settled = 0.0, np.zeros(n, np.bool_)
        for _ in range(n):
            nearest = int(np.where(settled, np.inf, distance).argmin())
            settled[nearest] = True
            shorter = distance[nearest] + steps[nearest] < distance
            distance[shorter] = distance[nearest] + steps[nearest, shorter]
            following[shorter] = nearest
        if not np.isfinite(distance[0]):
            return None
        way = [0]
        while way[-1] != 1:
            way.append(int(following[way[-1]]))
        return places[way]


def length(way: Array) -> float:
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
