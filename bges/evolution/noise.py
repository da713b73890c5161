"""One table of Gaussian numbers, shared by all: a perturbation is a place in it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.errors import InputError
from bges.randomness import Stream, generator

Float32 = NDArray[np.float32]

BLOCK = 64


def noise_table(seed: int, size: int) -> Float32:
    """`size` standard normal numbers, read-only."""
    table = generator(seed, Stream.NOISE_TABLE).standard_normal(size, dtype=np.float32)
    table.flags.writeable = False
    return table


def check_table(size: int, dimension: int) -> None:
    if size < 10 * dimension:
        raise InputError(
            f"es.noise_table is {size}, expected at least {10 * dimension} for a policy of {dimension} parameters"
        )


def weighted_sum(table: Float32, offsets: NDArray[Any], weights: NDArray[Any], dimension: int) -> NDArray[np.float64]:
    """Σ_k weights_k table[offsets_k : offsets_k + dimension], in double precision.

    Summed within blocks of `BLOCK` and then over blocks, always in this order, so that blocks may be summed anywhere.
    """
    total = np.zeros(dimension)
    row = np.empty(dimension, np.float32)
    for start in range(0, len(offsets), BLOCK):
        block = np.zeros(dimension)
        places = slice(start, start + BLOCK)
        for offset, weight in zip(offsets[places].tolist(), weights[places].tolist(), strict=True):
            if weight != 0.0:
                np.multiply(table[offset : offset + dimension], np.float32(weight), out=row)
                block += row
        total += block
    return total
