"""Which perturbations an iteration tries: places in the noise table, signs and episode seeds, from the run's seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.evolution.noise import Float32
from bges.randomness import Stream, generator


@dataclass(frozen=True, kw_only=True)
class Perturbations:
    """n perturbations of one iteration; driver and workers make the same from the configuration and its number.

    `offsets` (n,), `signs` (n,), `seeds` (n, episodes). The two of an antithetic pair stand side by side and play the
    same episodes, so that their difference is due to the parameters.
    """

    offsets: NDArray[np.int64]
    signs: NDArray[np.float32]
    seeds: NDArray[np.uint64]

    @classmethod
    def of(cls, config: RunConfig, iteration: int, dimension: int) -> "Perturbations":
        """Those of an iteration, for policies of `dimension` parameters."""
        es, seed = config.es, config.seed
        copies = 2 if es.antithetic else 1
        directions = es.population // copies
        offsets = generator(seed, Stream.OFFSETS, iteration).integers(0, es.noise_table - dimension + 1, directions)
        shape = (directions, config.env.episodes)
        seeds = generator(seed, Stream.EPISODES, iteration).integers(0, 2**64, shape, np.uint64)
        signs = np.tile(np.array([1.0, -1.0][:copies], np.float32), directions)
        return cls(offsets=np.repeat(offsets, copies), signs=signs, seeds=np.repeat(seeds, copies, axis=0))

    @property
    def directions(self) -> NDArray[np.int64]:
        """Offsets of the directions: the two of a pair share one."""
        return self.offsets[::2] if (self.signs[1:2] < 0).any() else self.offsets

    def thetas(self, theta: Float32, sigma: float, table: Float32, start: int, stop: int) -> Float32:
        """Perturbed parameter vectors (stop - start, d)."""
        thetas = np.empty((stop - start, len(theta)), np.float32)
        for row, k in enumerate(range(start, stop)):
            offset = int(self.offsets[k])
            np.multiply(table[offset : offset + len(theta)], self.signs[k] * np.float32(sigma), out=thetas[row])
        thetas += theta
        return thetas
