"""Pictures of experiments: learning curves, a surface of success rates, or the seeds of every method in a strip."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bges.bench.experiment import Cell, Experiment
from bges.report.colours import COLOURS
from bges.statistics import bootstrap_iqm

Rows = dict[int, dict[str, Any]]
Find = Callable[[Cell, str], Rows]
# Of more cells the strips stand in lines.
STRIP_COLUMNS = 5
UNITS = {"env_steps": "environment steps", "wall_time": "seconds"}


def draw(experiment: Experiment, find: Find, path: Path) -> None:
    """Draw what is known of an experiment into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    {"curves": _curves, "surface": _surface, "strip": _strip}[experiment.picture](experiment, find, figure)
    figure.suptitle(experiment.title, fontsize=11)
    figure.savefig(path, dpi=120)


def _curves(experiment: Experiment, find: Find, figure: Any) -> None:
    cells = experiment.cells()
    deep = 1 if len(cells) <= 3 else 2
    columns = -(-len(cells) // deep)
    figure.set_size_inches(5.2 * columns + 2.4, 4.2 * deep)
    # Rewards of different tasks have no scale in common.
    shared = "base" not in experiment.axes
    panels = figure.subplots(deep, columns, sharey=shared, squeeze=False).ravel()
    for axes in panels[len(cells) :]:
        axes.axis("off")
    over = experiment.against
    for axes, cell in zip(panels, cells, strict=False):
        for method, colour in zip(experiment.methods, _colours(experiment), strict=True):
            rows = find(cell, method)
            if not rows:
                continue
            longest = max((row["curve"][over] for row in rows.values()), key=lambda times: times[-1])
            grid = np.linspace(longest[0], longest[-1], 100)
            lines = [np.interp(grid, row["curve"][over], row["curve"]["score"]) for row in rows.values()]
            for line in lines:
                axes.plot(grid, line, color=colour, lw=0.6, alpha=0.35)
            mean, spread = np.mean(lines, axis=0), np.std(lines, axis=0)
            # Many bands on top of each other would hide the lines.
            alpha = min(0.12, 0.36 / len(experiment.methods))
            axes.fill_between(grid, mean - spread, mean + spread, color=colour, alpha=alpha, lw=0)
            axes.plot(grid, mean, color=colour, lw=2, label=f"{method} ({len(rows)} seeds)")
        if experiment.reference is not None:
            axes.axhline(experiment.reference, color="#888888", ls=":", lw=1)
        axes.set(xlabel=UNITS[over], title=_cell_title(cell))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel("score of the policy itself")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)


def _surface(experiment: Experiment, find: Find, figure: Any) -> None:
    """One axis: methods down, values across. Two: a grid of values for each method."""
    names, values = list(experiment.axes), list(experiment.axes.values())
    methods = list(experiment.methods)
    if len(names) == 1:
        figure.set_size_inches(1.2 * len(values[0]) + 3.6, 0.55 * len(methods) + 1.4)
        axes = figure.subplots()
        _heat(axes, figure, [[find({names[0]: value}, method) for value in values[0]] for method in methods])
        axes.set_yticks(range(len(methods)), methods)
        axes.set_xticks(range(len(values[0])), [str(value) for value in values[0]])
        axes.set_xlabel(_short(names[0]))
        return
    columns = min(len(methods), 4)
    rows = -(-len(methods) // columns)
    figure.set_size_inches((0.72 * len(values[1]) + 0.9) * columns + 1, (0.55 * len(values[0]) + 1) * rows + 0.5)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    for axes, method in zip(panels, methods, strict=False):
        cells = [[find({names[0]: a, names[1]: b}, method) for b in values[1]] for a in values[0]]
        _heat(axes, None, cells)
        axes.set_title(method, fontsize=10)
        axes.set_yticks(range(len(values[0])), [str(value) for value in values[0]])
        axes.set_xticks(range(len(values[1])), [str(value) for value in values[1]])
        axes.set(xlabel=_short(names[1]), ylabel=_short(names[0]))
        axes.label_outer()
    for axes in panels[len(methods) :]:
        axes.axis("off")


def _heat(axes: Any, figure: Any, cells: list[list[Rows]]) -> None:
    shares = np.array([[_share(rows) for rows in line] for line in cells])
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        rows = cells[i][j]
        text = f"{_settled(rows)}/{len(rows)}" if _knows(rows) else "–"
        axes.text(j, i, text, ha="center", va="center", fontsize=9, color="white" if share > 0.6 else "#222222")
    if figure is not None:
        figure.colorbar(image, ax=axes, label="settled past the trap", shrink=0.9)


def _strip(experiment: Experiment, find: Find, figure: Any) -> None:
    cells, methods = experiment.cells(), list(experiment.methods)
    columns = min(len(cells), STRIP_COLUMNS)
    lines = -(-len(cells) // columns)
    figure.set_size_inches((5.0 if lines == 1 else 3.2) * columns + 2.6, (0.34 * len(methods) + 1.5) * lines)
    panels = np.atleast_1d(figure.subplots(lines, columns, sharey=True)).ravel()
    for spare in panels[len(cells) :]:
        spare.set_axis_off()
    for axes, cell in zip(panels, cells, strict=False):
        for place, (method, colour) in enumerate(zip(methods, _colours(experiment), strict=True)):
            rows = find(cell, method)
            if not rows:
                continue
            scores = np.array([row["score"] for row in rows.values()])
            spread = np.linspace(-0.22, 0.22, len(scores)) if len(scores) > 1 else np.zeros(1)
            axes.scatter(scores, place + spread, s=14, color=colour, alpha=0.6, lw=0)
            centre = bootstrap_iqm(scores)
            axes.plot([centre.low, centre.high], [place, place], color="#222222", lw=1.4)
            axes.plot([centre.value] * 2, [place - 0.3, place + 0.3], color="#222222", lw=2)
            if _knows(rows):
                text = f" {_settled(rows)}/{len(rows)}"
                axes.annotate(text, (1, place), xycoords=("axes fraction", "data"), va="center", fontsize=8)
        if experiment.reference is not None:
            axes.axvline(experiment.reference, color="#888888", ls=":", lw=1)
        axes.set(xlabel="score at the end (dots: seeds; bar: IQM, 95 %)", title=_cell_title(cell))
        axes.set_yticks(range(len(methods)), methods)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()


def _share(rows: Rows) -> float:
    return _settled(rows) / len(rows) if _knows(rows) else 0.0


def _knows(rows: Rows) -> bool:
    """Whether the task says what success is."""
    return bool(rows) and all("settled" in row for row in rows.values())


def _settled(rows: Rows) -> int:
    return sum(row["settled"] for row in rows.values())


def _colours(experiment: Experiment) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(len(experiment.methods))]


def _cell_title(cell: Cell) -> str:
    return ", ".join(str(value) if key == "base" else f"{_short(key)} {value}" for key, value in cell.items())


def _short(key: str) -> str:
    return key.rpartition(".")[2].replace("_", " ")
