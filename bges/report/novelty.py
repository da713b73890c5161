"""Novelty against return, iteration by iteration."""

import numpy as np

from bges.report.chart import Chart, limits
from bges.report.colours import hex_colour, shares
from bges.report.markup import Child, Markup, el, short
from bges.report.material import Floats, Material
from bges.report.methods import Method
from bges.report.section import Section, run_figures

MOST = 200


def novelty_section(methods: list[Method]) -> Section:
    def draw(method: Method, run: Material, shown: bool) -> Child:
        name = "return_mean" if "return_mean" in run.metrics else "score"
        novelty, earned = run.column("novelty_mean"), run.column(name)
        both = np.isfinite(novelty) & np.isfinite(earned)
        if not both.any():
            return None
        return _drawn(novelty[both], earned[both], run.column("iteration")[both])

    figures = run_figures(methods, draw)
    if figures is None:
        lead = "None of these runs has a novelty term."
        return Section(id="novelty", title="Novelty and return", lead=lead)
    lead = (
        "Each dot is one iteration: mean novelty of its perturbed policies or episodes (before shaping, in the "
        "method's own unit) against their mean return; dark early, light late."
    )
    return Section(id="novelty", title="Novelty and return", lead=lead, body=figures)


def _drawn(novelty: Floats, returns: Floats, iteration: Floats) -> Markup:
    chosen = np.unique(np.linspace(0, len(novelty) - 1, min(MOST, len(novelty))).astype(int))
    novelty, returns, iteration = novelty[chosen], returns[chosen], iteration[chosen]
    chart = Chart(limits([novelty]), limits([returns]), ("mean novelty", "mean return"))
    chart.add(chart.line(novelty, returns, class_="thread"))
    for a, b, when, share in zip(novelty, returns, iteration, shares(iteration), strict=True):
        told = el("title", f"iteration {when:.0f}: novelty {short(a)}, return {short(b)}")
        chart.add(chart.circle(float(a), float(b), 2.6, told, fill=hex_colour(float(share))))
    return el("div", chart.svg("mean return against mean novelty"), class_="plot")
