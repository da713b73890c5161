"""Rasters that stand inside charts: clouds of points, heat maps."""

import io
from typing import Any

import numpy as np

from bges.report.chart import Chart, Range
from bges.report.colours import scale_colours, shares
from bges.report.markup import data_uri
from bges.report.material import Floats


def cloud(chart: Chart, places: Floats, values: Floats, scale: Range) -> str:
    """Points (n, 2) coloured by values (n,) from low to high, as a transparent picture of the chart's plot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    width, height = chart.right - chart.left, chart.bottom - chart.top
    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    low, high = scale
    known, colours = np.nan_to_num(values, nan=low), ListedColormap(scale_colours(256))
    axes.scatter(places[:, 0], places[:, 1], c=known, cmap=colours, vmin=low, vmax=high, s=8, alpha=0.7, lw=0)
    axes.set(xlim=chart.x, ylim=chart.y)
    return _png(lambda file: figure.savefig(file, dpi=110, transparent=True, format="png"))


def heat(values: Floats) -> str:
    """A picture of values (rows from the top, columns), low to high."""
    from matplotlib.image import imsave

    return _png(lambda file: imsave(file, shares(values), cmap="viridis", vmin=0, vmax=1, format="png"))


def _png(write: Any) -> str:
    from PIL import Image

    file = io.BytesIO()
    write(file)
    # A palette halves the file, and nobody can see it.
    image = Image.open(io.BytesIO(file.getvalue())).quantize(128, method=Image.Quantize.FASTOCTREE)
    small = io.BytesIO()
    image.save(small, "PNG", optimize=True)
    return data_uri(small.getvalue(), "image/png")
