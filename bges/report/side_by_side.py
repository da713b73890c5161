"""Policies that learned side by side: where each went, and the test functions between the first two, over the run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bges.algorithms import make_player
from bges.behavior import TestFunctions
from bges.core.problem import Problem
from bges.environments import member_seeds
from bges.policies import FixedPolicy
from bges.report.chart import Chart, limits
from bges.report.colours import COLOURS
from bges.report.functions import functions_in
from bges.report.markup import Child, Markup, el
from bges.report.material import Floats, Material
from bges.report.planes import world_limits
from bges.rollouts import play

ON_PAGE, IN_PICTURE = 25, 100


@dataclass(frozen=True, kw_only=True)
class Frame:
    """After so many iterations: paths (e, t, 2) and behaviours (e, d) of each policy, and their test functions."""

    iteration: int
    paths: list[Floats]
    points: list[Floats]
    functions: TestFunctions | None

    @property
    def label(self) -> str:
        return f"after {self.iteration} iterations" if self.iteration else "at the start"


def is_side_by_side(run: Material) -> bool:
    plane = getattr(run.task, "observes_plane", False)
    return run.algorithm == "repulsion" and run.problem is not None and bool(run.checkpoints) and plane


def frames(run: Material, episodes: int) -> list[Frame]:
    """At the start and at every kept checkpoint, without exploration noise."""
    problem = run.problem
    assert problem is not None
    assert run.run is not None
    count = problem.config.repulsion.policies
    player = make_player(problem)
    first = [FixedPolicy(player.policy, player.initial_theta(member)) for member in range(count)]
    player.close()
    found = [_frame(problem, 0, first, None, episodes)]
    for iteration, checkpoint in run.checkpoints.items():
        policies = [run.run.policy("last", problem, checkpoint, member) for member in range(count)]
        found.append(_frame(problem, iteration, policies, functions_in(run, checkpoint), episodes))
    return found


def _frame(
    problem: Problem, iteration: int, policies: list[FixedPolicy], functions: TestFunctions | None, episodes: int
) -> Frame:
    env, paths, points = problem.make_env(episodes), [], []
    for policy in policies:
        batch = policy.architecture.batch(policy.theta[None], episodes=episodes, moments=policy.moments)
        played = play(env, batch, seeds=member_seeds(0, episodes), keep=["observations", "actions"])
        paths.append(np.asarray(played.observations[:, :, :2], float))
        points.append(problem.embedding(played) / problem.config.embedding.scale)
    env.close()
    return Frame(iteration=iteration, paths=paths, points=points, functions=functions)


def moving_figure(run: Material) -> Markup:
    """Both charts, with a slider over the kept checkpoints; without scripts, how it ended."""
    found = frames(run, ON_PAGE)
    last = len(found) - 1
    slider = el("input", type="range", class_="frames", min=0, max=last, value=last, aria_label="checkpoint")
    labels = [el("span", frame.label, data_frame=i, hidden=i < last) for i, frame in enumerate(found)]
    controls = el("div", el("label", slider, class_="wide"), class_="controls scripted")
    x, y = world_limits(run.task)
    world = Chart(x, y, ("x [m]", "y [m]"), equal=True)
    world.add(world.scene(run.task))
    for i, frame in enumerate(found):
        lines = [
            el("g", [world.line(*path.T, class_="walk side", stroke="var(--c)") for path in own], class_=f"s{member}")
            for member, own in enumerate(frame.paths)
        ]
        world.add(el("g", lines, data_frame=i, hidden=i < last))
    names = [el("span", el("span", class_=f"key s{i}"), f"policy {i}") for i in range(len(found[0].paths))]
    told = el("p", el("span", labels), names, class_="legend")
    parts: list[Child] = [controls, told, _plot(world, "paths of the policies")]
    line = _line(found)
    return el("div", parts, None if line is None else _plot(line, "test functions over behaviour"))


def _plot(chart: Chart, title: str) -> Markup:
    return el("div", chart.svg(title), class_="plot")


def _span(found: list[Frame]) -> Floats | None:
    """Where the line of behaviours is drawn; None where there is no line."""
    if found[0].points[0].shape[1] != 1:
        return None
    low, high = limits([points for frame in found for points in frame.points], 0.1)
    return np.linspace(low, high, 120)


def _line(found: list[Frame]) -> Chart | None:
    across = _span(found)
    if across is None:
        return None
    values = {i: _values(frame.functions, across) for i, frame in enumerate(found) if frame.functions is not None}
    if not values:
        return None
    height = limits([line for pair in values.values() for line in pair])
    chart = Chart((across[0], across[-1]), height, ("behaviour", "test functions"), height=190)
    last = len(found) - 1
    for i, frame in enumerate(found):
        marks: list[Child] = []
        for member, line in enumerate(values.get(i, ())):
            marks.append(el("g", chart.line(across, line, class_="line"), class_=f"s{member}"))
        for member, points in enumerate(frame.points):
            marks.append(el("g", chart.on_axis(points[:, 0], fill="var(--c)"), class_=f"s{member}"))
        chart.add(el("g", marks, data_frame=i, hidden=i < last))
    return chart


def _values(functions: TestFunctions, across: Floats) -> tuple[Floats, Floats]:
    return functions.score_mu(across[:, None]), functions.score_nu(across[:, None])


def side_by_side_picture(run: Material, path: Path) -> None:
    """100 trajectories of each policy at the start, half-way and at the end, and the test functions below them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from bges.report.picture import draw_scene

    everything = frames(run, IN_PICTURE)
    half = everything[-1].iteration / 2
    middle = min(everything[1:], key=lambda frame: abs(frame.iteration - half))
    shown = [everything[0], middle, everything[-1]]
    across = _span(shown)
    figure = Figure(figsize=(12.5, 4.6 if across is None else 6.8), layout="constrained")
    FigureCanvasAgg(figure)
    rows = 1 if across is None else 2
    panels = figure.subplots(rows, 3, squeeze=False, sharey="row", height_ratios=(1.6, 1)[:rows])
    x, y = world_limits(run.task)
    for frame, axes in zip(shown, panels[0], strict=True):
        draw_scene(axes, run.task)
        for member, own in enumerate(frame.paths):
            for walked in own:
                axes.plot(*walked.T, color=COLOURS[member % 10], lw=0.6, alpha=0.5)
        axes.set(title=frame.label, xlim=x, ylim=y)
    if across is not None:
        for frame, axes in zip(shown, panels[1], strict=True):
            _draw_line(axes, frame, across)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.label_outer()
    beta, task = run.tree["repulsion"]["beta"], run.env_id.rpartition(":")[2]
    figure.suptitle(f"{len(shown[0].paths)} policies on {task}, beta {beta:g}, seed {run.seed}", fontsize=11)
    figure.savefig(path, dpi=130)


def _draw_line(axes: Any, frame: Frame, across: Floats) -> None:
    if frame.functions is not None:
        for member, line in enumerate(_values(frame.functions, across)):
            name = f"$\\lambda_{member}$, policy {member}"
            axes.plot(across, line, color=COLOURS[member], lw=1.8, label=name)
        axes.legend(fontsize=8)
    for member, points in enumerate(frame.points):
        heights = np.full(len(points), 0.03 + 0.05 * member)
        axes.plot(
            points[:, 0], heights, "|", color=COLOURS[member % 10], alpha=0.6, transform=axes.get_xaxis_transform()
        )
    axes.set(xlabel="behaviour", ylabel="test functions", xlim=(across[0], across[-1]))
