"""The behaviour map: where the recorded behaviours lie, over the run."""

import base64

import numpy as np

from bges.report.chart import Chart, Range
from bges.report.colours import scale_colours
from bges.report.markup import Child, Markup, data, el, short
from bges.report.material import Behaviors, Floats, Material
from bges.report.methods import Method
from bges.report.planes import Plane
from bges.report.raster import cloud
from bges.report.section import Section, run_figures

MOST_POINTS = 40_000
MOST_OF_A_RUN = 4000
UNKNOWN = 65535
COLOURINGS = ("iteration", "return", "novelty")


def map_section(methods: list[Method], planes: dict[str, Plane]) -> Section:
    runs = sum(len(method.runs) for method in methods)
    most = min(MOST_OF_A_RUN, MOST_POINTS // max(runs, 1))
    seen = [run.behaviors for method in methods for run in method.runs if run.behaviors is not None]
    # The same colour is the same return on all maps; novelties of two methods have no unit in common.
    shared = {name: _limits([part.by(name) for part in seen]) for name in ("iteration", "return")}

    def draw(method: Method, run: Material, shown: bool) -> Child:
        if run.behaviors is None:
            return None
        thin = run.behaviors.thinned(most)
        scales = {**shared, "novelty": _limits([thin.novelty])}
        return behavior_map(run, planes[str(run.path)], thin, scales, shown)

    figures = run_figures(methods, draw)
    if figures is None or shared["iteration"] is None:
        return Section(id="map", title="Behaviour map", lead="No behaviours were recorded.")
    notes = {plane.note for plane in planes.values() if plane.note and not plane.of_world}
    lead = (
        "Each dot is the behaviour of one perturbed policy or episode, as its embedding. "
        + ("The axes are " + "; ".join(sorted(notes)) + ". " if notes else "")
        + "Walls are red, goals green; the small dot is the start." * any(plane.of_world for plane in planes.values())
    )
    scale = data({"colours": scale_colours()}, id="scale")
    return Section(
        id="map",
        title="Behaviour map",
        lead=lead,
        body=[_controls(methods, int(shared["iteration"][1])), scale, figures],
    )


def _controls(methods: list[Method], longest: int) -> Markup:
    novelty = any(
        run.behaviors is not None and np.isfinite(run.behaviors.novelty).any() for m in methods for run in m.runs
    )
    names = COLOURINGS if novelty else COLOURINGS[:2]
    choice = el("select", [el("option", name, value=name) for name in names], id="colour")
    slider = el("input", type="range", id="until", min=0, max=longest, value=longest, aria_label="up to iteration")
    return el(
        "div",
        el("label", "colour by ", choice),
        el("button", "play", id="play", type="button"),
        el("label", "up to iteration ", el("output", str(longest), id="until-value"), slider, class_="wide"),
        class_="controls scripted",
    )


def behavior_map(run: Material, plane: Plane, seen: Behaviors, scales: dict[str, Range | None], shown: bool) -> Markup:
    """Axes and scene in SVG, the points for the script's canvas and, where it is `shown`, as a picture without one."""
    places = plane.place(seen.points, seen.iteration)
    by_iteration = base_chart(plane)
    if shown and scales["iteration"] is not None:
        picture = cloud(by_iteration, places, seen.iteration, scales["iteration"])
        by_iteration.add(by_iteration.picture(picture, class_="static"))
    if plane.of_world:
        by_iteration.add(by_iteration.scene(run.task))
    packed = {
        "frame": by_iteration.frame(),
        "x": _packed(places[:, 0], by_iteration.x),
        "y": _packed(places[:, 1], by_iteration.y),
    }
    for name in COLOURINGS:
        limits = scales[name]
        if limits is not None:
            packed[name] = {"low": limits[0], "high": limits[1], "values": _packed(seen.by(name), limits)}
    plot = el("div", by_iteration.svg("behaviours, coloured by iteration"), data(packed), class_="plot points")
    low, high = (short(value) for value in scales["iteration"] or (0.0, 0.0))
    bar = el("div", el("span", low), el("i"), el("span", high), class_="bar")
    return el("div", plot, bar, _by_return(run, plane, places, seen.returns, scales["return"]) if shown else None)


def _by_return(run: Material, plane: Plane, places: Floats, returns: Floats, scale: Range | None) -> Child:
    """The second picture of those who have no scripts to change the first."""
    if scale is None:
        return None
    chart = base_chart(plane)
    chart.add(chart.picture(cloud(chart, places, returns, scale)))
    if plane.of_world:
        chart.add(chart.scene(run.task))
    told = f"coloured by return, {short(scale[0])} (dark) to {short(scale[1])} (light)"
    return el("noscript", el("div", chart.svg(told), class_="plot"), el("p", told, class_="note"))


def base_chart(plane: Plane) -> Chart:
    return Chart(plane.x, plane.y, plane.labels, height=300, equal=plane.of_world)


def _limits(columns: list[Floats]) -> Range | None:
    known = np.concatenate([*(column[np.isfinite(column)] for column in columns), np.empty(0)])
    return (float(known.min()), float(known.max())) if len(known) else None


def _packed(values: Floats, limits: tuple[float, float]) -> str:
    """Values as 16-bit numbers between their limits; the highest means unknown."""
    low, high = limits
    share = (np.asarray(values, float) - low) / (high - low) if high > low else np.zeros(len(values))
    known = np.isfinite(share) & (share >= 0) & (share <= 1)
    whole = np.where(known, np.where(known, share, 0.0) * (UNKNOWN - 1), UNKNOWN).astype("<u2")
    return base64.b64encode(whole.tobytes()).decode()
