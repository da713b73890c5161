"""A picture of a run: how its score rose, and where its policies went."""

from pathlib import Path
from typing import Any

import numpy as np

from bges.report.colours import GOAL, POPULATION, SCORE, WALL
from bges.report.material import Material
from bges.report.planes import planes_of
from bges.report.replay import walk
from bges.report.side_by_side import is_side_by_side, side_by_side_picture
from bges.runs.directory import Run

MOST_POINTS = 6000


def draw_scene(axes: Any, task: Any) -> None:
    """The walls, the goals and the start of a task in the plane, seen from above."""
    from matplotlib.patches import Circle, Rectangle

    for (x, y), (half_x, half_y) in task.walls():
        axes.add_patch(Rectangle((x - half_x, y - half_y), 2 * half_x, 2 * half_y, color=WALL, zorder=3))
    for (x, y), radius in task.goals():
        axes.add_patch(Circle((x, y), radius, color=GOAL, alpha=0.6, zorder=1))
        axes.text(x, y - 1.7 * radius, "goal", ha="center", color="#2e7d46")
    start = task.start_place()
    axes.plot(*start, ".", color="#333333", zorder=3)
    axes.annotate("start", start, (0, -12), textcoords="offset points", ha="center", color="#333333")
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")


def run_picture(run: Run, path: Path) -> None:
    """Draw a run into a PNG file: its score, and the behaviours seen in training over time.

    Policies that learn side by side are drawn as the paper draws them.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    material = Material.read(run.path)
    if is_side_by_side(material):
        side_by_side_picture(material, path)
        return
    figure = Figure(figsize=(12.5, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    curve, places = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_curve(curve, run)
    _draw_behaviors(places, figure, material)
    for axes in (curve, places):
        axes.spines[["top", "right"]].set_visible(False)
    config = run.config
    figure.suptitle(f"{config.algorithm} on {config.env.id.rpartition(':')[2]}, seed {config.seed}", fontsize=11)
    figure.savefig(path, dpi=130)


def _draw_curve(axes: Any, run: Run) -> None:
    rows = run.metrics().to_pydict()
    iteration = np.array(rows["iteration"])
    mean, spread = np.array(rows["return_mean"]), np.array(rows["return_std"])
    score = np.array(rows["score"], float)
    axes.fill_between(iteration, mean - spread, mean + spread, color=POPULATION, alpha=0.35, lw=0)
    axes.plot(iteration, mean, color=POPULATION, lw=1, label="played to learn from, mean ± std")
    known = np.isfinite(score)
    axes.plot(iteration[known], score[known], color=SCORE, lw=1.8, label="the policy itself")
    axes.set(xlabel="iteration", ylabel="return")
    axes.legend(loc="lower right", fontsize=8)


def _draw_behaviors(axes: Any, figure: Any, run: Material) -> None:
    if run.behaviors is None:
        axes.text(0.5, 0.5, "no recorded behaviours", ha="center", va="center")
        return
    plane = planes_of([run])[str(run.path)]
    seen = run.behaviors.thinned(MOST_POINTS)
    dots = axes.scatter(
        *plane.place(seen.points, seen.iteration).T, c=seen.iteration, s=5, cmap="viridis", alpha=0.5, lw=0, zorder=2
    )
    figure.colorbar(dots, ax=axes, label="iteration", shrink=0.8)
    axes.set(xlabel=plane.labels[0], ylabel=plane.labels[1])
    axes.set_title("behaviours", fontsize=10)
    if plane.of_world and run.run is not None and run.problem is not None:
        axes.set_title("where episodes ended", fontsize=10)
        draw_scene(axes, run.task)
        for which, colour in (("best", "#d97706"), ("last", "#7c2d92")):
            (path,) = walk(run.problem, run.run.policy(which, run.problem), episodes=1).paths
            axes.plot(*path.T, color=colour, lw=2.2, label=f"{which} policy", zorder=4)
        axes.set(xlim=plane.x, ylim=plane.y)
        axes.legend(loc="upper left", fontsize=8)
