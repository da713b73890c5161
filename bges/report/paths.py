"""One picture of several runs: where the policy of each goes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bges.errors import InputError
from bges.report.material import Material
from bges.report.picture import draw_scene
from bges.report.replay import walk

COLOURS = ("#d97706", "#2563eb", "#7c2d92", "#0f766e", "#be123c", "#4d7c0f")
EPISODES = 3


def paths_picture(runs: Sequence[Path], path: Path) -> None:
    """Draw the last policies' episodes on the map of the first run's task into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    seen = []
    for place, folder in enumerate(runs):
        material = Material.read(folder)
        if material.run is None or material.problem is None or not getattr(material.task, "observes_plane", False):
            raise InputError(f"{folder}: its task has no map to draw paths on")
        if place == 0:
            draw_scene(axes, material.task)
        found = walk(material.problem, material.run.policy("last", material.problem), episodes=EPISODES)
        label = f"{material.algorithm} ({material.name}): return {found.total_return:.0f}"
        for number, line in enumerate(found.paths):
            axes.plot(*line.T, color=COLOURS[place % len(COLOURS)], lw=2.2, label=None if number else label, zorder=4)
            axes.plot(*line[-1], "o", color=COLOURS[place % len(COLOURS)], ms=6, zorder=5)
            seen.append(line)
    points = np.concatenate(seen)
    axes.update_datalim(points)
    axes.autoscale_view()
    axes.margins(0.08)
    axes.legend(loc="upper left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=130, format="png")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
