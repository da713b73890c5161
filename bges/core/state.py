"""Arrays under names: what the state of a learner is made of."""

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]


def prefixed(name: str, arrays: Arrays) -> Arrays:
    """The same arrays under `name/`."""
    return {f"{name}/{key}": array for key, array in arrays.items()}


def part(arrays: Arrays, name: str) -> Arrays:
    """The arrays under `name/`, without it."""
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}
