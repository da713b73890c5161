"""Where the time went, and what was lost on the way."""

import numpy as np

from bges.report.chart import Chart
from bges.report.markup import Child, Markup, el, short, table
from bges.report.material import Material
from bges.report.methods import Method
from bges.report.section import Section, key, run_label

PARTS = ("rollouts", "waiting", "scoring", "update")


def timing_section(methods: list[Method]) -> Section:
    rows = [(method, run, found) for method in methods for run in method.runs if (found := seconds(run))]
    if not rows:
        return Section(id="time", title="Where the time went", lead="No times were recorded.")
    lead = (
        "Seconds of an iteration. Rollouts: play, divided by the workers. Waiting: from handing out the work to the "
        "last result, without the play: transport, and workers that start or idle. Scoring: the novelty, or "
        "the value function and advantages. Update: the rest."
    )
    legend = [el("span", el("i", class_=f"part p{i}"), name) for i, name in enumerate(PARTS)]
    head: list[Child] = ["run", "iterations", "steps", "wall time", "steps per second", "workers", *PARTS]
    return Section(
        id="time",
        title="Where the time went",
        lead=lead,
        body=[
            el("p", legend, class_="legend"),
            el("figure", _bars(methods), class_="card wide"),
            table(head, [_row(method, run, found) for method, run, found in rows]),
        ],
    )


def seconds(run: Material) -> dict[str, float]:
    """Mean seconds of an iteration by part; empty where no times were recorded."""
    if not any(name.startswith("seconds_") for name in run.metrics) or not run.iterations:
        return {}
    means = {
        part: float(np.nan_to_num(run.column(f"seconds_{name}")).mean())
        for part, name in zip(PARTS, ("rollout", "waiting", "scoring", "update"), strict=True)
    }
    # Waiting is measured with the play in it.
    means["waiting"] = max(means["waiting"] - means["rollouts"], 0.0)
    return means


def _bars(methods: list[Method]) -> Markup:
    means = []
    for method in methods:
        found = [times for run in method.runs if (times := seconds(run))]
        if found:
            means.append((method, {part: float(np.mean([times[part] for times in found])) for part in PARTS}))
    most = max(sum(times.values()) for _, times in means)
    chart = Chart((0, most * 1.02 or 1), (0, len(means)), ("seconds of an iteration", ""), height=50 + 42 * len(means))
    unit = (chart.right - chart.left) / (chart.x[1] - chart.x[0])
    for row, (method, times) in enumerate(means):
        at, top = 0.0, float(chart.py(len(means) - row))
        bars: list[Child] = [el("text", method.name, x=f"{chart.left + 2}", y=f"{top + 13:.1f}", class_="word")]
        for place, (part, value) in enumerate(times.items()):
            told = el("title", f"{method.name}, {part}: {value:.4f} s")
            box = {
                "x": f"{float(chart.px(at)):.1f}",
                "y": f"{top + 17:.1f}",
                "width": f"{value * unit:.2f}",
                "height": "16",
            }
            bars.append(el("rect", told, class_=f"part p{place}", **box))
            at += value
        chart.add(el("g", bars, data_method=method.index))
    return el("div", chart.svg("seconds of an iteration by part"), class_="plot bars")


def _row(method: Method, run: Material, times: dict[str, float]) -> list[Child]:
    steps, wall = run.column("env_steps"), run.column("wall_time")
    total, taken = (float(column[-1]) if len(column) else float("nan") for column in (steps, wall))
    workers = sorted({int(count) for count in run.column("workers") if np.isfinite(count)})
    whole = sum(times.values()) or 1.0
    return [
        [key(method), run_label(method, run)],
        str(run.iterations),
        short(total),
        f"{taken:.1f} s" if np.isfinite(taken) else "–",
        short(total / taken) if taken else "–",
        ", ".join(map(str, workers)) or "–",
        *[f"{value:.3f} s ({value / whole:.0%})" for value in times.values()],
    ]


def faults_section(methods: list[Method]) -> Section:
    rows: list[list[Child]] = []
    for method in methods:
        for run in method.runs:
            lost = np.nan_to_num(run.column("lost_chunks"))
            if lost.any():
                where = ", ".join(f"{run.column('iteration')[i]:.0f}" for i in np.flatnonzero(lost)[:20])
                rows.append([[key(method), run_label(method, run)], f"{lost.sum():.0f}", where])
    if not rows:
        lead = "No chunk of work was lost."
        if not any("lost_chunks" in run.metrics for method in methods for run in method.runs):
            lead = "Lost work was not recorded."
        return Section(id="faults", title="Faults", lead=lead)
    lead = "Chunks of work that were lost with their worker and played again with the same numbers."
    head: list[Child] = ["run", "lost chunks", "in iterations"]
    return Section(id="faults", title="Faults", lead=lead, body=table(head, rows))
