"""Two axes on which behaviours are drawn, whatever their dimension."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bges.report.material import Behaviors, Floats, Material

Range = tuple[float, float]
MOST_POINTS = 4000


@dataclass(frozen=True, kw_only=True)
class Plane:
    """The plane through `origin` (d,) along the orthonormal `directions` (2, d); `scale` gives its unit.

    Behaviours of one dimension are drawn over time: then there is no second direction and x is the iteration.
    """

    origin: Floats
    directions: Floats
    labels: tuple[str, str]
    note: str = ""
    scale: float = 1.0
    x: Range = (0.0, 1.0)
    y: Range = (0.0, 1.0)
    of_world: bool = False

    @property
    def over_time(self) -> bool:
        return len(self.directions) == 1

    def place(self, points: Floats, iteration: Floats) -> Floats:
        """Where points (n, d) of these iterations (n,) are drawn, (n, 2)."""
        found = (points - self.origin) @ self.directions.T * self.scale
        return np.column_stack([iteration, found]) if self.over_time else found

    def lift(self, places: Floats) -> Floats:
        """The behaviours (n, d) that lie in the plane at places (n, 2)."""
        return self.origin + places / self.scale @ self.directions


def world_plane(run: Material) -> Plane | None:
    """The plane in which the body moves, where the embedding begins with the position in it."""
    task, settings, seen = run.task, run.tree.get("embedding", {}), run.behaviors
    if task is None or not getattr(task, "observes_plane", False) or settings.get("name") != "final_state":
        return None
    indices = settings.get("kwargs", {}).get("indices")
    if seen is None or (indices is not None and list(indices[:2]) != [0, 1]) or seen.points.shape[1] < 2:
        return None
    size = seen.points.shape[1]
    origin = np.median(seen.points, axis=0)
    origin[:2] = 0.0
    x, y = world_limits(task)
    return Plane(
        origin=origin,
        directions=np.eye(size)[:2],
        labels=("x [m]", "y [m]"),
        note="" if size == 2 else f"the other {size - 2} coordinates at their median",
        scale=float(settings.get("scale", 1.0)),
        x=x,
        y=y,
        of_world=True,
    )


def world_limits(task: Any) -> tuple[Range, Range]:
    """What to show of the plane: the start, the walls and the goals, with room around."""
    boxes = [(task.start_place(), (0.0, 0.0)), *task.walls(), *((centre, (r, r)) for centre, r in task.goals())]
    low = min(x - half for (x, _), (half, _) in boxes)
    high = max(x + half for (x, _), (half, _) in boxes)
    tall = max(abs(y) + half for (_, y), (_, half) in boxes)
    span = max(high - low, 1.0)
    reach = max(0.55 * span, 1.3 * tall)
    return (low - 0.25 * span, high + 0.25 * span), (-reach, reach)


def component_plane(points: Floats) -> Plane:
    """The first two principal components of points (n, d); of behaviours of one or two dimensions, themselves."""
    size = points.shape[1]
    origin = np.zeros(size)
    if size == 1:
        plane = Plane(origin=origin, directions=np.eye(1), labels=("iteration", "behaviour"))
    elif size == 2:
        plane = Plane(origin=origin, directions=np.eye(2), labels=("behaviour 1", "behaviour 2"))
    else:
        origin = points.mean(axis=0)
        _, values, directions = np.linalg.svd(points - origin, full_matrices=False)
        variance = values**2 / max(float((values**2).sum()), 1e-300)
        both = np.vstack([directions, np.zeros((2, size))])[:2]
        first, second = (*variance, 0.0)[:2]
        plane = Plane(
            origin=origin,
            directions=both,
            labels=(f"first component, {first:.0%} of the variance", f"second, {second:.0%}"),
            note=f"principal components of {size} dimensions, {first + second:.0%} of the variance explained",
        )
    places = plane.place(points, np.zeros(len(points)))
    return replace(plane, x=_limits(places[:, 0]), y=_limits(places[:, 1]))


def planes_of(runs: list[Material]) -> dict[str, Plane]:
    """A plane for each run with behaviours, by the run's path: of the world, or one shared by those of a dimension."""
    found = {str(run.path): plane for run in runs if (plane := world_plane(run)) is not None}
    others: dict[int, list[Material]] = {}
    for run in runs:
        if run.behaviors is not None and str(run.path) not in found:
            others.setdefault(run.behaviors.points.shape[1], []).append(run)
    for alike in others.values():
        seen = [run.behaviors for run in alike if run.behaviors is not None]
        plane = component_plane(_pooled(seen))
        if plane.over_time:
            plane = replace(plane, x=(0.0, max(float(part.iteration.max()) for part in seen) + 1.0))
        found |= {str(run.path): plane for run in alike}
    return found


def _pooled(seen: list[Behaviors]) -> Floats:
    most = max(MOST_POINTS // len(seen), 50)
    return np.concatenate([part.thinned(most).points for part in seen])


def _limits(values: Floats) -> Range:
    """Almost all values, with some room: a few wild ones do not press the rest together."""
    low, high = (float(value) for value in np.quantile(values, [0.005, 0.995]))
    room = 0.08 * (high - low) or 0.5
    return low - room, high + room
