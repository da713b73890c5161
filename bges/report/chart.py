"""A chart as SVG: drawn whole without scripts, in the page's colours."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bges.report.markup import Child, Markup, el, short

Range = tuple[float, float]
WIDTH = 460


class Chart:
    """Axes with ticks and what is added to them, in units of the data; what lies outside is cut off."""

    def __init__(
        self,
        x: Range,
        y: Range,
        labels: tuple[str, str],
        *,
        height: float = 250,
        width: float = WIDTH,
        equal: bool = False,
    ) -> None:
        self.x, self.y, self.labels, self.width = widened(x), widened(y), labels, width
        self.left, self.top, self.right, self.bottom = 62.0, 10.0, width - 12.0, height - 40.0
        if equal:
            unit = (self.right - self.left) / (self.x[1] - self.x[0])
            self.bottom = self.top + unit * (self.y[1] - self.y[0])
        self.height = self.bottom + 40.0
        self._inside: list[Child] = []

    def px(self, values: Any) -> Any:
        return self.left + (np.asarray(values, float) - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - self.left)

    def py(self, values: Any) -> Any:
        return self.bottom - (np.asarray(values, float) - self.y[0]) / (self.y[1] - self.y[0]) * (
            self.bottom - self.top
        )

    def add(self, *markup: Child) -> None:
        self._inside.extend(markup)

    def line(self, x: Any, y: Any, **attributes: Any) -> Markup:
        """A line that breaks where a value is missing."""
        return el("path", d=_path(self.px(x), self.py(y)), fill="none", **attributes)

    def band(self, x: Any, low: Any, high: Any, **attributes: Any) -> Markup:
        known = np.isfinite(np.asarray(low, float)) & np.isfinite(np.asarray(high, float))
        across = self.px(x)[known]
        outline = _path(np.r_[across, across[::-1]], np.r_[self.py(low)[known], self.py(high)[known][::-1]])
        return el("path", d=f"{outline}Z" if outline else "", stroke="none", **attributes)

    def circle(self, x: float, y: float, r: float, *children: Child, **attributes: Any) -> Markup:
        return el("circle", *children, cx=_at(self.px(x)), cy=_at(self.py(y)), r=r, **attributes)

    def on_axis(self, x: Any, **attributes: Any) -> list[Markup]:
        """Dots that stand on the x axis."""
        return [el("circle", cx=_at(at), cy=_at(self.bottom - 3), r=2.5, **attributes) for at in self.px(x)]

    def picture(self, uri: str, **attributes: Any) -> Markup:
        """A raster that fills the plot."""
        size = {"width": _at(self.right - self.left), "height": _at(self.bottom - self.top)}
        place = {"x": _at(self.left), "y": _at(self.top)}
        return el("image", href=uri, preserveAspectRatio="none", **place, **size, **attributes)

    def scene(self, task: Any) -> list[Markup]:
        """Walls, goals and start of a task in the plane."""
        unit = (self.right - self.left) / (self.x[1] - self.x[0])
        drawn = []
        for (x, y), radius in task.goals():
            drawn.append(self.circle(x, y, round(radius * unit, 1), el("title", "goal"), class_="goal"))
        for (x, y), (half_x, half_y) in task.walls():
            corner = {"x": _at(self.px(x - half_x)), "y": _at(self.py(y + half_y))}
            size = {"width": _at(2 * half_x * unit), "height": _at(2 * half_y * unit)}
            drawn.append(el("rect", el("title", "wall"), class_="wall", **corner, **size))
        x, y = task.start_place()
        return [*drawn, self.circle(x, y, 3.0, el("title", "start"), class_="start")]

    def svg(self, title: str, **attributes: Any) -> Markup:
        """The whole; `title` is what a screen reader says."""
        width, height = _at(self.right - self.left), _at(self.bottom - self.top)
        place = {"x": _at(self.left), "y": _at(self.top), "width": width, "height": height}
        # An SVG within an SVG cuts off what lies outside.
        plot = el("svg", self._inside, viewBox=f"{place['x']} {place['y']} {width} {height}", **place)
        return el(
            "svg",
            self._grid(),
            plot,
            el("g", class_="over"),
            viewBox=f"0 0 {_at(self.width)} {_at(self.height)}",
            role="img",
            aria_label=title,
            **attributes,
        )

    def frame(self) -> dict[str, float]:
        """What a script needs to find its way: the plot in the SVG's units, and its limits in the data's."""
        places = {"left": self.left, "right": self.right, "top": self.top, "bottom": self.bottom}
        size = {"width": self.width, "height": self.height}
        limits = {"x0": self.x[0], "x1": self.x[1], "y0": self.y[0], "y1": self.y[1]}
        return {name: float(f"{value:.6g}") for name, value in (places | size | limits).items()}

    def _grid(self) -> Markup:
        parts: list[Child] = []
        for value, text in labelled(ticks(self.x, 6)):
            at = _at(self.px(value))
            parts.append(el("line", x1=at, x2=at, y1=_at(self.top), y2=_at(self.bottom)))
            parts.append(el("text", text, x=at, y=_at(self.bottom + 15), text_anchor="middle"))
        for value, text in labelled(ticks(self.y, 5)):
            at = _at(self.py(value))
            parts.append(el("line", x1=_at(self.left), x2=_at(self.right), y1=at, y2=at))
            parts.append(el("text", text, x=_at(self.left - 6), y=_at(float(at) + 4), text_anchor="end"))
        middle, up = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        parts.append(el("text", self.labels[0], x=_at(middle), y=_at(self.bottom + 33), text_anchor="middle"))
        turned = f"translate(13 {_at(up)}) rotate(-90)"
        parts.append(el("text", self.labels[1], transform=turned, text_anchor="middle"))
        return el("g", parts, class_="axes")


def ticks(limits: Range, most: int) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    low, high = limits
    room = 1e-9 * (high - low)
    found: Iterable[float] = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(value) for value in found if low - room <= value <= high + room]


def labelled(values: list[float]) -> list[tuple[float, str]]:
    """With as many digits as tell them apart."""
    near = 0.01 * (values[1] - values[0]) if len(values) > 1 else np.inf
    digits = next(n for n in range(3, 18) if all(abs(float(f"{value:.{n}g}") - value) <= near for value in values))
    return [(value, short(value, digits)) for value in values]


def limits(values: Sequence[Any], room: float = 0.05) -> Range:
    """What holds all finite values, with some room."""
    arrays = [np.asarray(value, float).ravel() for value in values]
    known = np.concatenate([*arrays, np.empty(0)])
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return low - room * (high - low), high + room * (high - low)


def widened(limits: Range) -> Range:
    """Never a range of no width."""
    low, high = limits
    if high - low > 1e-12 * max(abs(low), abs(high), 1e-6):
        return low, high
    room = max(abs(low) * 0.1, 0.5)
    return low - room, high + room


def _path(x: Any, y: Any) -> str:
    parts, pen = [], "M"
    for a, b in zip(np.asarray(x), np.asarray(y), strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            pen = "M"
            continue
        parts.append(f"{pen}{_at(a)} {_at(b)}")
        pen = "L"
    return "".join(parts)


def _at(value: Any) -> str:
    # Far outside is as good as outside, and shorter.
    return f"{float(np.clip(value, -5000, 5000)):.1f}".removesuffix(".0")
