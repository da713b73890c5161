"""What is done to rewards and novelties before they weigh perturbations."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def zscore(values: Array) -> Array:
    """Centred, in units of the standard deviation; zeros where all are equal."""
    centred = values - values.mean()
    deviation = float(values.std())
    # Equal values differ in their last bits after averaging: that is no spread.
    scale = float(np.abs(values).max())
    return centred / deviation if deviation > 1e-12 * scale else np.zeros_like(values)


def centred_ranks(values: Array) -> Array:
    """Ranks spread evenly over [-1/2, 1/2]; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_rank = last - (counts + 1) / 2
    return mean_rank[place] / max(len(values) - 1, 1) - 0.5


def unchanged(values: Array) -> Array:
    return values


SHAPINGS: dict[str, Callable[[Array], Array]] = {"zscore": zscore, "ranks": centred_ranks, "none": unchanged}
