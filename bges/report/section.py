"""A section of the page, and figures of single runs in it."""

from collections.abc import Callable
from dataclasses import dataclass

from bges.report.markup import Child, Markup, el
from bges.report.material import Material
from bges.report.methods import Method


@dataclass(frozen=True, kw_only=True)
class Section:
    """`lead` says what is to be seen; with an empty `body`, why there is nothing."""

    id: str
    title: str
    lead: Child
    body: Child = ""

    def markup(self) -> Markup:
        heading = el("h2", el("a", self.title, href=f"#{self.id}"))
        return el("section", heading, el("p", self.lead, class_="lead"), self.body, id=self.id)


def run_label(method: Method, run: Material) -> str:
    return f"{method.name}, seed {run.seed}" if run.seed is not None else f"{method.name}, {run.name}"


def run_figures(
    methods: list[Method], draw: Callable[[Method, Material, bool], Child], *, small: bool = True
) -> Markup | None:
    """A figure for each run that `draw` has something for; the first of each method is shown, scripts show the others.

    `draw` is told whether the figure is seen without scripts.
    """
    figures: list[Child] = []
    for method in methods:
        for place, run in enumerate(method.runs):
            drawn = draw(method, run, place == 0)
            if drawn:
                caption = el("figcaption", key(method), run_label(method, run))
                attributes = {"data_method": method.index, "data_place": place, "hidden": place > 0}
                figures.append(el("figure", caption, drawn, class_="run card", **attributes))
    return el("div", figures, class_="grid three" if small and len(methods) > 2 else "grid") if figures else None


def key(method: Method) -> Markup:
    """A dot in the method's colour."""
    return el("span", class_=f"key s{method.index % 10}")
