"""The weighted sum of many perturbations of many parameters, by the workers: each sums a slice of the parameters.

A slice is summed over all directions in the order of `weighted_sum`, and parameters do not mix, so that the bits are
the same whoever sums which slice. The driver sends a weight for each direction and gets a number for each parameter
back: its cost does not grow with their product.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.core.work import Context, Sums, Unit
from bges.errors import Interrupted, RunError

Play = Callable[[Sequence[Unit], Context], Sequence[Any]]

# Products below which the driver is done before a worker has its message.
LARGE = 50_000_000
# Parameters that a worker sums at once: enough for numpy's loops to outweigh Python's.
SLICE = 2048


def sum_by_workers(play: Play, iteration: int, weights: NDArray[Any], dimension: int) -> NDArray[np.float64] | None:
    """The sum, or None where it is not worth a message, or the workers have not done it: then the driver does."""
    if len(weights) * dimension < LARGE:
        return None
    units = [
        Unit(iteration=iteration, index=index, kind="sum", start=start, stop=min(start + SLICE, dimension))
        for index, start in enumerate(range(0, dimension, SLICE))
    ]
    context = Context(iteration=iteration, thetas=np.zeros((0, 0), np.float32), moments=(), weights=weights)
    try:
        sums: list[Sums] = sorted(play(units, context), key=lambda result: result.unit.index)
    except (Interrupted, RunError):
        # In the middle of an update nothing may fail: whoever asked to stop is heard before the next iteration.
        return None
    return np.concatenate([part.values for part in sums])
