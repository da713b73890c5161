"""Trajectories of the unperturbed policy over training."""

from bges.report.chart import Chart
from bges.report.colours import hex_colour
from bges.report.markup import Child, Markup, el, short
from bges.report.material import Material
from bges.report.methods import Method
from bges.report.planes import world_limits
from bges.report.replay import Walk, walks
from bges.report.section import Section, run_figures
from bges.report.side_by_side import is_side_by_side, moving_figure


def walks_section(methods: list[Method]) -> Section:
    def draw(method: Method, run: Material, shown: bool) -> Child:
        if is_side_by_side(run):
            return moving_figure(run)
        found = walks(run)
        return _drawn(run, found) if found else None

    figures = run_figures(methods, draw)
    if figures is None:
        none = "Trajectories need a checkpoint and a task with a position in the plane."
        return Section(id="trajectories", title="Trajectories", lead=none)
    of_several = {is_side_by_side(run) for method in methods for run in method.runs}
    lead: list[Child] = [
        "Episodes of the policies in the kept checkpoints, played again without noise",
        ": dark early, light late, the best policy dashed. " if False in of_several else ". ",
        "Policies that learned side by side have a colour each, and move with the slider; below them are their "
        "behaviours and the test functions between the first two. "
        if True in of_several
        else None,
        el("code", "checkpoint.keep_every"),
        " keeps more of them.",
    ]
    return Section(id="trajectories", title="Trajectories", lead=lead, body=figures)


def _drawn(run: Material, found: list[Walk]) -> Markup:
    x, y = world_limits(run.task)
    chart = Chart(x, y, ("x [m]", "y [m]"), equal=True)
    chart.add(chart.scene(run.task))
    dated = [walk.iteration for walk in found if walk.iteration is not None]
    last = max([*dated, run.iterations, 1])
    names: list[Child] = []
    for walk in found:
        told = f"{walk.label}: mean return {short(walk.total_return)}"
        best = walk.iteration is None
        colour = {} if best else {"stroke": hex_colour((walk.iteration or 0) / last)}
        for path in walk.paths:
            drawn = chart.line(*path.T, class_="walk best" if best else "walk", **colour)
            chart.add(el("g", el("title", told), drawn))
        names.append(el("li", told))
    return el("div", el("div", chart.svg("paths of the policies"), class_="plot"), el("ul", names, class_="note"))
