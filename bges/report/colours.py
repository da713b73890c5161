"""Colours of pictures and pages."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Okabe and Ito's colours, which most people can tell apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a", "#000000", "#b3a000", "#8a5a44"]
# The same on a dark ground: what was darkest is lightest.
ON_DARK = ["#5aa9e6", "#f0874a", "#3cc49a", "#e0a3c6", "#f2bd42", "#8fd0f5", "#a8a8a8", "#f2f2f2", "#d4c72e", "#c08f73"]
WALL, GOAL, SCORE, POPULATION = "#b5482f", "#4caf6d", "#1f5fa8", "#9aa5b1"
STOPS = 16


# The lowest part of the scale would not be seen on a dark ground.
DARKEST = 0.22


def scale_colours(count: int = STOPS) -> list[str]:
    """The scale from low (blue) to high (yellow)."""
    return [hex_colour(value) for value in np.linspace(0, 1, count)]


def hex_colour(value: float) -> str:
    """The scale's colour for a value in 0..1."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return str(to_hex(colormaps["viridis"](DARKEST + (1 - DARKEST) * float(np.clip(value, 0, 1)))))


def shares(values: ArrayLike) -> Any:
    """Values brought to 0..1, lowest to highest."""
    array = np.asarray(values, float)
    low, high = np.nanmin(array), np.nanmax(array)
    return (array - low) / (high - low) if high > low else np.zeros_like(array)
