"""New policies out of others: a step towards a second one, and noise (iso-line, Vassiliades and Mouret, 2018)."""

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.work import Variations
from bges.evolution.noise import Float32
from bges.randomness import Stream, generator

# Scales are drawn, not chosen: the first policies' within a factor e^±0.7, later steps' log-normally.
FIRST_SPREAD = 0.7
STEP_SPREAD = 1.0


def first_variations(config: RunConfig, iteration: int, count: int, dimension: int) -> Variations:
    """Policies of many sizes, out of one that is zero everywhere."""
    rng = generator(config.seed, Stream.VARIATIONS, iteration)
    scales = config.search.first_scale * np.exp(rng.uniform(-FIRST_SPREAD, FIRST_SPREAD, count))
    nobody = np.zeros(count, np.intp)
    return _variations(config, rng, dimension, nobody, nobody, np.zeros(count), scales)


def variations_of(
    config: RunConfig,
    rng: np.random.Generator,
    thetas: Float32,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
) -> Variations:
    """Steps from rows `first` of thetas towards rows `second`, with noise in proportion to the parent's own size."""
    size = np.sqrt(np.mean(np.square(thetas[first], dtype=np.float64), axis=1))
    scales = config.search.step * size * np.exp(STEP_SPREAD * rng.standard_normal(len(first)))
    lines = config.search.line * rng.standard_normal(len(first))
    return _variations(config, rng, thetas.shape[1], first, second, lines, scales)


def _variations(
    config: RunConfig,
    rng: np.random.Generator,
    dimension: int,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    lines: NDArray[np.float64],
    scales: NDArray[np.float64],
) -> Variations:
    count = len(first)
    return Variations(
        first=first,
        second=second,
        lines=lines.astype(np.float32),
        scales=scales.astype(np.float32),
        offsets=rng.integers(0, config.es.noise_table - dimension + 1, count),
        seeds=rng.integers(0, 2**64, (count, config.env.episodes), np.uint64),
    )


def varied(thetas: Float32, variations: Variations, table: Float32, start: int, stop: int) -> Float32:
    """Parameters (stop - start, d) of variations of thetas (m, d)."""
    places = slice(start, stop)
    parents = thetas[variations.first[places]]
    found: Float32 = parents + variations.lines[places, None] * (thetas[variations.second[places]] - parents)
    dimension = thetas.shape[1]
    for row, offset, scale in zip(found, variations.offsets[places], variations.scales[places], strict=True):
        row += scale * table[offset : offset + dimension]
    return found
