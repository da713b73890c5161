"""Learning curves: every metric that is there, by method, over seeds."""

from dataclasses import dataclass

import numpy as np

from bges.report.chart import Chart, limits
from bges.report.markup import Child, Markup, data, el, short, table
from bges.report.material import Floats, Material
from bges.report.methods import Method
from bges.report.section import Section, key
from bges.statistics import bootstrap_iqm, wilson

MAIN = {
    "score": "score in evaluations",
    "success_rate": "share of episodes with success",
    "return_mean": "mean return in training",
}
# The spread that a single run knows of its own mean.
SPREADS = {"score": "score_std", "return_mean": "return_std", "novelty_mean": "novelty_std"}
# Shown elsewhere, or only another axis.
LEFT_OUT = ("iteration", "env_steps", "wall_time", "lost_chunks", *MAIN, *SPREADS.values())
GRID = 80
MOST_OF_A_RUN = 300


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A method's metric over x: mean with spread, interquartile mean with its interval, and the single seeds."""

    method: Method
    x: Floats
    mean: Floats
    spread: Floats | None
    iqm: Floats | None
    low: Floats | None
    high: Floats | None
    seeds: list[tuple[Floats, Floats]]
    # Shares lie between 0 and 1, and so does what is drawn around their mean.
    bounds: tuple[float, float]

    @property
    def around(self) -> list[Floats]:
        spread = np.zeros_like(self.mean) if self.spread is None else self.spread
        return [np.clip(self.mean - spread, *self.bounds), np.clip(self.mean + spread, *self.bounds)]


def curves_section(methods: list[Method]) -> Section:
    axis = x_axis(methods)
    shown = [name for name in MAIN if any(known(run, name).any() for method in methods for run in method.runs)]
    if all(len(method.runs) == 1 for method in methods):
        lead = (
            "The band is the run's own spread: over the episodes of an evaluation, or over the policies or episodes of "
            "an iteration."
        )
    else:
        lead = (
            "Thin lines are single seeds; the thick line is their mean and the band their standard deviation, or the "
            "interquartile mean with its 95 % bootstrap interval. Means end where the shortest run does."
        )
    if not shown:
        return Section(id="curves", title="Learning curves", lead="No score has been recorded yet.")
    charts = [chart(methods, name, axis, MAIN[name], full=True) for name in shown]
    return Section(
        id="curves",
        title="Learning curves",
        lead=lead,
        body=[
            _switch(methods),
            el("div", charts, class_="grid three" if len(charts) > 2 else "grid"),
            final_table(methods),
            _more(methods, axis),
        ],
    )


def x_axis(methods: list[Method]) -> str:
    """Iterations, unless they cost the methods different numbers of steps."""
    per = []
    for method in methods:
        steps = method.runs[0].metrics.get("env_steps", np.empty(0))
        if len(steps):
            per.append(steps[-1] / len(steps))
    return "env_steps" if per and max(per) > 1.05 * min(per) else "iteration"


def known(run: Material, name: str) -> np.ndarray:
    return np.isfinite(run.column(name))


def curve(method: Method, name: str, axis: str, *, full: bool) -> Curve | None:
    """None where no run of the method knows the metric; `full` adds interquartile means."""
    lines = []
    for run in method.runs:
        have = known(run, name) & known(run, axis)
        if have.any():
            lines.append((run.column(axis)[have], run.column(name)[have]))
    if not lines:
        return None
    bounds = (0.0, 1.0) if name == "success_rate" else (-np.inf, np.inf)
    thin = [(x[_thinned(len(x))], y[_thinned(len(x))]) for x, y in lines]
    if len(lines) == 1:
        (x, y), run = thin[0], next(run for run in method.runs if known(run, name).any())
        own = run.column(SPREADS.get(name, ""))[known(run, name) & known(run, axis)][_thinned(len(lines[0][0]))]
        spread = own if np.isfinite(own).any() else None
        return Curve(method=method, x=x, mean=y, spread=spread, iqm=None, low=None, high=None, seeds=[], bounds=bounds)
    first, last = max(x[0] for x, _ in lines), min(x[-1] for x, _ in lines)
    grid = np.linspace(first, max(last, first), GRID)
    values = np.stack([np.interp(grid, x, y) for x, y in lines])
    centres = [bootstrap_iqm(column) for column in values.T] if full else []
    return Curve(
        method=method,
        x=grid,
        mean=values.mean(axis=0),
        spread=values.std(axis=0),
        iqm=np.array([centre.value for centre in centres]) if full else None,
        low=np.array([centre.low for centre in centres]) if full else None,
        high=np.array([centre.high for centre in centres]) if full else None,
        seeds=thin if full else [],
        bounds=bounds,
    )


def chart(methods: list[Method], name: str, axis: str, label: str, *, full: bool) -> Markup:
    """Lines of all methods, with what a script needs to tell the values under the pointer."""
    found = [c for method in methods if (c := curve(method, name, axis, full=full)) is not None]
    heights: list[Floats] = []
    for c in found:
        heights += [c.mean, *(y for _, y in c.seeds)]
        if c.spread is not None and full:
            heights += c.around
    if found and np.isfinite(found[0].bounds).all():
        heights = [np.array(found[0].bounds)]
    labels = ("environment steps" if axis == "env_steps" else "iteration", "")
    drawn = Chart(limits([c.x for c in found], 0.0), limits(heights), labels, height=250 if full else 170)
    for c in found:
        drawn.add(el("g", _lines(drawn, c, full), class_=f"s{c.method.index % 10}", data_method=c.method.index))
    hover = [
        {"method": c.method.index, "name": c.method.name, "x": _numbers(c.x), "mean": _numbers(c.mean)}
        | {
            part: _numbers(values)
            for part in ("spread", "iqm", "low", "high")
            if (values := getattr(c, part)) is not None
        }
        for c in found
    ]
    picture = drawn.svg(f"{label} over {labels[0]}")
    plot = el("div", picture, data({"frame": drawn.frame(), "axis": labels[0], "lines": hover}), class_="plot lines")
    return el("figure", el("figcaption", label), plot, class_="card")


def _lines(drawn: Chart, c: Curve, full: bool) -> list[Child]:
    parts: list[Child] = [drawn.line(x, y, class_="seed") for x, y in c.seeds]
    if c.spread is not None and full:
        parts.append(drawn.band(c.x, *c.around, class_="band of-mean"))
    if c.iqm is not None:
        parts.append(drawn.band(c.x, c.low, c.high, class_="band of-iqm"))
        parts.append(drawn.line(c.x, c.iqm, class_="line of-iqm"))
    kind = "line of-mean" if c.iqm is not None else "line"
    parts.append(drawn.line(c.x, c.mean, class_=kind))
    return parts


def _switch(methods: list[Method]) -> Child:
    if all(len(method.runs) == 1 for method in methods):
        return None
    choices = [("mean", "mean ± std"), ("iqm", "IQM, 95 %")]
    radios = [
        el("label", el("input", type="radio", name="centre", value=value, checked=value == "mean"), label)
        for value, label in choices
    ]
    seeds = el("label", el("input", type="checkbox", id="seeds", checked=True), "seeds")
    return el("div", radios, seeds, class_="controls scripted")


def final_table(methods: list[Method]) -> Markup:
    """The last tenth of each run's evaluations, over seeds."""
    rows: list[list[Child]] = []
    for method in methods:
        ends = np.array([last_tenth(run, "score") for run in method.runs])
        ends = ends[np.isfinite(ends)]
        if not len(ends):
            rows.append([[key(method), method.name], str(len(method.runs)), "–", "–", "–", "–"])
            continue
        centre = bootstrap_iqm(ends)
        interval = f" ({short(centre.low)} to {short(centre.high)})" if len(ends) > 1 else ""
        wins = [rate for run in method.runs if np.isfinite(rate := last_tenth(run, "success_rate"))]
        count = sum(rate >= 0.9 for rate in wins)
        share = wilson(count, len(wins)) if wins else None
        told = f"{count} of {len(wins)} ({share.low:.0%} to {share.high:.0%})" if share else "–"
        spread = f" ± {short(ends.std())}" if len(ends) > 1 else ""
        scores = ", ".join(short(end) for end in ends)
        centre_text = f"{short(centre.value)}{interval}"
        rows.append(
            [[key(method), method.name], str(len(ends)), f"{short(ends.mean())}{spread}", centre_text, told, scores]
        )
    head: list[Child] = [
        "method",
        "runs",
        "score at the end, mean ± std",
        "IQM (95 %)",
        "runs with success ≥ 90 % (95 %)",
        "each run",
    ]
    return table(head, rows)


def last_tenth(run: Material, name: str) -> float:
    """The mean over the last tenth of what is known; NaN where nothing is."""
    values = run.column(name)[known(run, name)]
    return float(values[-max(len(values) // 10, 1) :].mean()) if len(values) else float("nan")


def _more(methods: list[Method], axis: str) -> Child:
    """All other columns, small: whatever an algorithm thought worth recording."""
    names = dict.fromkeys(name for method in methods for run in method.runs for name in run.metrics)
    changing = [n for n in names if n not in LEFT_OUT and any(np.ptp(c) > 0 for c in _values(methods, n))]
    others = [chart(methods, name, axis, name, full=False) for name in changing]
    return (
        el("details", el("summary", f"{len(others)} more metrics"), el("div", others, class_="grid small"))
        if others
        else None
    )


def _values(methods: list[Method], name: str) -> list[Floats]:
    found = [run.column(name)[known(run, name)] for method in methods for run in method.runs]
    return [values for values in found if len(values)]


def _thinned(count: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, MOST_OF_A_RUN)).astype(int))


def _numbers(values: Floats) -> list[float | None]:
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]
