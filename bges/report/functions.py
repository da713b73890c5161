"""The fitted test functions over behaviour space, as the last checkpoint holds them."""

from collections.abc import Callable

import numpy as np

from bges.behavior import TestFunctions
from bges.core.functions import own_cost
from bges.report.chart import Chart, limits
from bges.report.markup import Child, Markup, el, short
from bges.report.material import ANY_FAILURE, Floats, Material
from bges.report.methods import Method
from bges.report.planes import Plane, component_plane
from bges.report.raster import heat
from bges.report.section import Section, run_figures
from bges.runs.checkpoints import Checkpoint

CELLS = 64
MOST_DOTS = 60
SYMBOLS = {"mu": "μ", "nu": "ν"}


def functions_section(methods: list[Method], planes: dict[str, Plane]) -> Section:
    def draw(method: Method, run: Material, shown: bool) -> Child:
        fitted = fitted_functions(run)
        if fitted is None or run.behaviors is None or fitted.dim != run.behaviors.points.shape[1]:
            return None
        try:
            return draw_functions(run, fitted, planes[str(run.path)])
        except ANY_FAILURE as error:
            run.note(f"its test functions cannot be drawn: {error}")
            return None

    figures = run_figures(methods, draw, small=False)
    if figures is None:
        none = (
            "None of these runs holds fitted test functions over its behaviours: only BGES and repulsion with a "
            "smoothed Wasserstein distance do. Those of a policy gradient belong to its update."
        )
        return Section(id="functions", title="Test functions", lead=none)
    lead: list[Child] = [
        "The two functions whose means tell past behaviour (μ) from new behaviour (ν), as last fitted: dark is low, "
        "light is high. ",
        symbol("mu"),
        " is high where the past has mass that the new behaviours lack, ",
        symbol("nu"),
        " low where the new behaviours have mass that the past lacks. Dots are the newest cloud of behaviours. "
        "Of policies that learn side by side, μ is the first and ν the second.",
    ]
    return Section(id="functions", title="Test functions", lead=lead, body=figures)


def symbol(name: str) -> Markup:
    return el("span", "λ", el("sub", SYMBOLS[name]))


def fitted_functions(run: Material) -> TestFunctions | None:
    """Whatever part of the newest checkpoint is the state of fitted test functions."""
    if not run.checkpoints:
        return None
    return functions_in(run, list(run.checkpoints.values())[-1])


def functions_in(run: Material, checkpoint: Checkpoint) -> TestFunctions | None:
    for state in checkpoint.functions().values():
        try:
            found = TestFunctions.from_state(state, cost=own_cost(str(run.tree.get("novelty", {}).get("cost", ""))))
        except ANY_FAILURE as error:
            run.note(f"its test functions cannot be read: {error}")
            continue
        if found.potentials is not None:
            return found
    return None


def draw_functions(run: Material, fitted: TestFunctions, plane: Plane) -> Markup:
    """Curves in one dimension, heat maps on the plane in more; a world of more than two also by its components."""
    assert run.behaviors is not None
    newest = run.behaviors.points[run.behaviors.iteration == run.behaviors.iteration.max()]
    newest = newest[:: -(-len(newest) // MOST_DOTS)]
    if fitted.dim == 1:
        return _curves(fitted, newest, plane)
    planes = [plane]
    if plane.of_world and fitted.dim > 2:
        planes.append(component_plane(run.behaviors.thinned(4000).points))
    parts: list[Child] = []
    for shown in planes:
        scores = (("mu", fitted.score_mu), ("nu", fitted.score_nu))
        maps = [_map(run, shown, name, score, newest) for name, score in scores]
        parts += [el("div", maps, class_="pair"), el("p", shown.note, class_="note") if shown.note else None]
    return el("div", parts)


def _map(run: Material, plane: Plane, name: str, score: Callable[[Floats], Floats], newest: Floats) -> Markup:
    chart = Chart(plane.x, plane.y, plane.labels, height=220, width=290, equal=plane.of_world)
    # The centres of the cells, rows from the top.
    inside = (np.arange(CELLS) + 0.5) / CELLS
    x = chart.x[0] + inside * (chart.x[1] - chart.x[0])
    y = chart.y[1] - inside * (chart.y[1] - chart.y[0])
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = score(plane.lift(places)).reshape(CELLS, CELLS)
    chart.add(chart.picture(heat(values)))
    if plane.of_world:
        chart.add(chart.scene(run.task))
    for a, b in plane.place(newest, np.zeros(len(newest))):
        chart.add(chart.circle(float(a), float(b), 1.6, class_="newest"))
    told = f", from {short(values.min())} (dark) to {short(values.max())} (light)"
    return el("div", chart.svg(f"λ_{SYMBOLS[name]}{told}"), el("p", symbol(name), told, class_="note"), class_="plot")


def _curves(fitted: TestFunctions, newest: Floats, plane: Plane) -> Markup:
    low, high = plane.y
    x = np.linspace(low, high, 200)
    lines = {"mu": fitted.score_mu(x[:, None]), "nu": fitted.score_nu(x[:, None])}
    chart = Chart((low, high), limits(list(lines.values())), ("behaviour", "value"))
    for place, (name, y) in enumerate(lines.items()):
        chart.add(el("g", chart.line(x, y, class_="line"), class_=f"s{place}"))
        words = {"class_": f"s{place} word", "x": f"{chart.left + 8}", "y": f"{chart.top + 16 + 22 * place}"}
        chart.add(el("text", "λ", el("tspan", SYMBOLS[name], dy="3", font_size=".8em"), **words))
    chart.add(chart.on_axis(newest[:, 0], class_="newest"))
    return el("div", chart.svg("λ_μ and λ_ν over behaviour"), class_="plot")
