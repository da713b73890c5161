"""What a handful of seeds says, and how surely."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 5000
DEALS = 20_000


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float


def iqm(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interquartile mean over the last axis: the mean of what is left without the lowest and the highest quarter.

    Whole values are cut, as in `scipy.stats.trim_mean(values, 0.25)`: one of five on each side.
    """
    ordered = np.sort(values, axis=-1)
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)


def bootstrap_iqm(values: ArrayLike, *, level: float = 0.95, seed: int = 0) -> Interval:
    """The interquartile mean of seeds' results, with a percentile bootstrap interval over seeds."""
    array = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    resampled = iqm(array[rng.integers(0, len(array), (RESAMPLES, len(array)))])
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value=float(iqm(array)), low=float(low), high=float(high))


def wilson(successes: int, trials: int, z: float = 1.959964) -> Interval:
    """A success rate with Wilson's score interval, which is sound for few trials and for rates of 0 and 1."""
    rate, spread = successes / trials, z * z / trials
    centre = (rate + spread / 2) / (1 + spread)
    half = z * np.sqrt(rate * (1 - rate) / trials + spread / (4 * trials)) / (1 + spread)
    return Interval(value=rate, low=float(max(centre - half, 0.0)), high=float(min(centre + half, 1.0)))


def fisher(successes: int, trials: int, other_successes: int, other_trials: int) -> float:
    """Fisher's exact test, two-sided: how likely counts at least as unlikely as these are if both rates are equal."""
    total = successes + other_successes
    counts = range(max(0, total - other_trials), min(total, trials) + 1)
    ways = {count: comb(trials, count) * comb(other_trials, total - count) for count in counts}
    return sum(way for way in ways.values() if way <= ways[successes]) / sum(ways.values())


def permutation(values: ArrayLike, other: ArrayLike, *, seed: int = 0) -> float:
    """How often means differ at least as much as these when all values are dealt anew: all deals, or a sample."""
    one, two = np.asarray(values, np.float64), np.asarray(other, np.float64)
    everything = np.concatenate([one, two])
    if comb(len(everything), len(one)) <= DEALS:
        deals = np.array(list(combinations(range(len(everything)), len(one))))
    else:
        rng = np.random.default_rng(seed)
        deals = rng.permuted(np.tile(np.arange(len(everything)), (DEALS, 1)), axis=1)[:, : len(one)]
        # The deal that was seen is one of them.
        deals = np.concatenate([deals, np.arange(len(one))[None]])
    sums = everything[deals].sum(axis=1)
    differences = np.abs(sums / len(one) - (everything.sum() - sums) / len(two))
    return float(np.mean(differences >= abs(one.mean() - two.mean()) - 1e-12 * np.abs(everything).max()))


def smoothed(scores: ArrayLike, width: int = 5) -> NDArray[np.float64]:
    """Running means of `width` evaluations, or of all there are: a single one may be lucky."""
    array = np.asarray(scores, np.float64)
    width = min(width, len(array))
    return np.convolve(array, np.full(width, 1.0 / width), "valid")


def time_to(curve: dict[str, list[float]], score: float) -> float:
    """When a curve's running mean reached a score; infinity if it never did."""
    means = smoothed(curve["score"])
    reached = np.flatnonzero(means >= score)
    return curve["wall_time"][len(curve["score"]) - len(means) + int(reached[0])] if len(reached) else float("inf")
