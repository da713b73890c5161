"""A picture of a run: how its score rose, and where its policies went."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.environments import AnyVectorEnv
from bges.errors import InputError
from bges.problem import Problem
from bges.rollouts import play
from bges.runs.directory import Run

MOST_POINTS = 6000
WALL, GOAL, SCORE, POPULATION = "#b5482f", "#4caf6d", "#1f5fa8", "#9aa5b1"


def draw_trap(axes: Any, task: Any) -> None:
    """The walls, the goal and the start of a deceptive task, seen from above."""
    from matplotlib.patches import Circle, Rectangle

    for (x, y), (half_x, half_y) in task.walls():
        axes.add_patch(Rectangle((x - half_x, y - half_y), 2 * half_x, 2 * half_y, color=WALL, zorder=3))
    axes.add_patch(Circle((task.goal_x, 0), task.goal_radius, color=GOAL, alpha=0.6, zorder=1))
    axes.text(task.goal_x, -task.goal_radius - 1.4, "goal", ha="center", color="#2e7d46")
    axes.text(0, -1.8, "start", ha="center", color="#333333")
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")


def run_picture(run: Run, path: Path) -> None:
    """Draw a run into a PNG file: its score, and the behaviours seen in training over time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    curve, places = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_curve(curve, run)
    _draw_behaviors(places, figure, run)
    for axes in (curve, places):
        axes.spines[["top", "right"]].set_visible(False)
    config = run.config
    figure.suptitle(f"{config.algorithm} on {config.env.id.rpartition(':')[2]}, seed {config.seed}", fontsize=11)
    figure.savefig(path, dpi=130)


def _draw_curve(axes: Any, run: Run) -> None:
    rows = run.metrics().to_pydict()
    iteration = np.array(rows["iteration"])
    mean, spread = np.array(rows["reward_mean"]), np.array(rows["reward_std"])
    score = np.array(rows["score"], float)
    axes.fill_between(iteration, mean - spread, mean + spread, color=POPULATION, alpha=0.35, lw=0)
    axes.plot(iteration, mean, color=POPULATION, lw=1, label="played to learn from, mean ± std")
    known = np.isfinite(score)
    axes.plot(iteration[known], score[known], color=SCORE, lw=1.8, label="the policy itself")
    axes.set(xlabel="iteration", ylabel="total reward")
    axes.legend(loc="lower right", fontsize=8)


def _draw_behaviors(axes: Any, figure: Any, run: Run) -> None:
    try:
        table = run.behaviors()
    except InputError as error:
        axes.text(0.5, 0.5, str(error), ha="center", va="center", wrap=True)
        return
    every = max(len(table) // MOST_POINTS, 1)
    chosen = np.arange(0, len(table), every)
    points = np.stack(table["embedding"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)[chosen])
    iteration = table["iteration"].to_numpy()[chosen]
    env = Problem.of(run.config).make_env(1)
    task = getattr(env.unwrapped, "task", None)
    env.close()
    deceptive = hasattr(task, "walls")
    if deceptive and run.config.embedding.name == "final_state":
        xy = points[:, :2] * run.config.embedding.scale
        axes.set_title("where episodes ended", fontsize=10)
    else:
        xy = _plane(axes, points, iteration)
    dots = axes.scatter(*xy.T, c=iteration, s=np.clip(4000 / len(xy), 5, 25), cmap="viridis", alpha=0.5, lw=0, zorder=2)
    figure.colorbar(dots, ax=axes, label="iteration", shrink=0.8)
    if deceptive and run.config.embedding.name == "final_state":
        assert task is not None
        draw_trap(axes, task)
        for which, colour in (("best", "#d97706"), ("last", "#7c2d92")):
            trajectory = _path(run, which)
            axes.plot(*trajectory.T, color=colour, lw=2.2, label=f"{which} policy", zorder=4)
        reach = max(1.3 * task.goal_x, 10.0)
        axes.set(xlim=(-0.4 * task.goal_x, reach), ylim=(-0.6 * task.goal_x, 0.6 * task.goal_x))
        axes.legend(loc="upper left", fontsize=8)


def _plane(axes: Any, points: NDArray[Any], iteration: NDArray[Any]) -> NDArray[Any]:
    """Behaviours in two dimensions: against the iteration if they have one, by principal components if many."""
    if points.shape[1] == 1:
        axes.set(xlabel="iteration", ylabel="behaviour")
        return np.column_stack([iteration, points[:, 0]])
    if points.shape[1] == 2:
        axes.set(xlabel="behaviour 1", ylabel="behaviour 2")
        return points
    centred = points - points.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    shares = values**2 / max(float((values**2).sum()), 1e-300)
    axes.set(xlabel=f"first component, {shares[0]:.0%} of the variance", ylabel=f"second, {shares[1]:.0%}")
    axes.set_title("behaviours, principal components", fontsize=10)
    return centred @ directions[:2].T


def _path(run: Run, which: str) -> NDArray[Any]:
    """Positions (t, 2) of one noise-free episode."""
    policy = run.policy(which)
    env: AnyVectorEnv = Problem.of(run.config).make_env(1)
    batch = policy.architecture.batch(policy.theta[None], moments=policy.moments)
    played = play(env, batch, seeds=[0], keep=["observations"])
    env.close()
    return played.observations[0, : played.lengths[0] + 1, :2]
