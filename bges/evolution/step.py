"""The step of an evolution strategy: from returns and novelties to (1/nσ) Σ_k w_k ε_k."""

import numpy as np
from numpy.typing import NDArray

from bges.config.evolution import EsConfig
from bges.config.run import RunConfig
from bges.core.work import Reduce, Weights, Work
from bges.evolution.perturbations import Perturbations
from bges.evolution.shaping import SHAPINGS

Array = NDArray[np.float64]

# Products of directions and parameters below which the driver is done before a worker has its message.
LARGE = 50_000_000
# Parameters that a worker sums at once: enough for numpy's loops to outweigh Python's.
SLICE = 2048


def weights_of(config: RunConfig, returns: Array, novelties: Array | None, beta: float) -> Array:
    """(1 - |β|) shape(R) + β shape(N), for each perturbation."""
    shape = SHAPINGS[config.es.shaping]
    if novelties is None or beta == 0.0:
        return shape(returns)
    of_return = 1 - beta if config.novelty.paper_weights else 1 - abs(beta)
    return of_return * shape(returns) + beta * shape(novelties)


def by_direction(es: EsConfig, weights: Array, drawn: Perturbations) -> tuple[Array, float]:
    """The weight of each direction, the two of a pair together, and nσ, which their sum is divided by."""
    copies = 2 if es.antithetic else 1
    signed, used = (weights * drawn.signs).reshape(-1, copies), len(weights)
    if es.top is not None:
        kept = top_directions(weights.reshape(-1, copies), es.top)
        signed, used = np.where(kept[:, None], signed, 0.0), es.top * copies
    return signed.sum(axis=1), used * es.sigma


def top_directions(weights: Array, top: int) -> NDArray[np.bool_]:
    """Which of the directions (n, copies) are among the `top` whose better sign weighs most."""
    chosen = np.argsort(-weights.max(axis=1), kind="stable")[:top]
    kept = np.zeros(len(weights), np.bool_)
    kept[chosen] = True
    return kept


def reduction(iteration: int, weights: Array, dimension: int) -> Work | None:
    """The sum over directions as work, each unit a slice of the parameters; None where it is not worth a message.

    A slice is summed over all directions in the order of `weighted_sum`, and parameters do not mix, so that the bits
    are the same whoever sums which slice. The driver sends a weight for each direction and gets a number for each
    parameter back: its cost does not grow with their product.
    """
    if len(weights) * dimension < LARGE:
        return None
    starts = range(0, dimension, SLICE)
    return Work(
        units=[
            Reduce(iteration=iteration, index=index, start=start, stop=min(start + SLICE, dimension))
            for index, start in enumerate(starts)
        ],
        context=Weights(iteration=iteration, weights=weights),
    )
