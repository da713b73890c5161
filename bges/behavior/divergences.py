"""Hellinger, Jensen-Shannon, Kullback-Leibler and total variation between clouds, called as `TestFunctions` is.

The density estimate is a Gaussian kernel around every point, one bandwidth for both clouds. A perturbed policy leaves
one or a few points, to which no Gaussian can be fitted, and with a shared covariance all four divergences would be the
same function of one distance; a histogram needs more points than there are cells. All four follow from the log ratio of
the two densities at the points of both clouds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bges.behavior.costs import Floats, squared_distances
from bges.behavior.random_features import median_width
from bges.behavior.solvers import FitResult
from bges.behavior.states import Arrays, pack, unpack
from bges.behavior.test_functions import check_cloud, check_groups, merged_units
from bges.checks import check_choice, check_positive, check_whole
from bges.errors import InputError
from bges.moments import Moments

KIND = "Divergence"

# Each takes log q/p at points of the base, (k, b), and of the groups, (k, e), and averages over both; p is the base's
# density and q the group's.
Formula = Callable[[Floats, Floats], Floats]


def _over_both(function: Callable[[Floats], Floats], at_base: Floats, at_group: Floats) -> Floats:
    """The mean of a function of log q/p under the even mixture (p + q)/2."""
    mean: Floats = function(at_base).mean(axis=1) / 2.0 + function(at_group).mean(axis=1) / 2.0
    return mean


def hellinger(at_base: Floats, at_group: Floats) -> Floats:
    """sqrt(1 − ∫ √(pq)), where √(pq) / ((p + q)/2) is 1 / cosh(½ log q/p)."""
    affinity = _over_both(lambda ratio: 2.0 / (_exp(-ratio / 2.0) + _exp(ratio / 2.0)), at_base, at_group)
    return np.sqrt(np.maximum(1.0 - affinity, 0.0))


def jensen_shannon(at_base: Floats, at_group: Floats) -> Floats:
    """½ KL(p | (p+q)/2) + ½ KL(q | (p+q)/2), at most log 2."""
    from_base = np.log(2.0) - np.logaddexp(0.0, at_base)
    from_group = np.log(2.0) - np.logaddexp(0.0, -at_group)
    value: Floats = from_base.mean(axis=1) / 2.0 + from_group.mean(axis=1) / 2.0
    return value


def kullback_leibler(at_base: Floats, at_group: Floats) -> Floats:
    """KL(q | p): how unlikely the group's points are under the base."""
    value: Floats = at_group.mean(axis=1)
    return value


def total_variation(at_base: Floats, at_group: Floats) -> Floats:
    """½ ∫ |p − q|, where |p − q| / (p + q) is |tanh(½ log q/p)|."""
    return _over_both(lambda ratio: np.abs(np.tanh(ratio / 2.0)), at_base, at_group)


def _exp(exponent: Floats) -> Floats:
    return np.exp(np.minimum(exponent, 700.0))


FORMULAS: dict[str, Formula] = {
    "hellinger": hellinger,
    "jensen_shannon": jensen_shannon,
    "kl": kullback_leibler,
    "total_variation": total_variation,
}


class Divergence:
    """One of the four between x (n, dim), the base's cloud, and y (m, dim), the new one.

    `bandwidth` is a number or "median": the median distance within the first fit's clouds times n^(−1/(dim + 4)),
    Scott's rate. `standardize` is that of `TestFunctions`.
    """

    def __init__(self, name: str, dim: int, bandwidth: float | str = "median", standardize: bool = True) -> None:
        self.name = check_choice("divergence", name, FORMULAS)
        self.dim = check_whole("dim", dim)
        if isinstance(bandwidth, str):
            check_choice("bandwidth", bandwidth, ["median"])
        self.bandwidth = None if isinstance(bandwidth, str) else float(check_positive("bandwidth", bandwidth))
        self.standardize = bool(standardize)
        self.moments = Moments.empty(self.dim)
        self.clipped = 0

    def fit(self, x: Any, y: Any, steps: int | None = None, units: Any = None) -> FitResult:
        """Take x and y, or `units`, into the running statistics, and the bandwidth from the first two clouds.

        `steps` changes nothing.
        """
        x, y = check_cloud("x", x, self.dim), check_cloud("y", y, self.dim)
        self.moments = merged_units(self.moments, x, y, units)
        if self.bandwidth is None:
            cloud = self._standard(np.concatenate([x, y]))
            self.bandwidth = median_width(cloud) * len(cloud) ** (-1.0 / (self.dim + 4.0))
        value = self.distance(x, y)
        return FitResult(solver="kernel density", steps=0, value=value, mean_f=1.0, error=0.0, converged=True)

    def distance(self, x: Any, y: Any) -> float:
        """The divergence of y from x."""
        x, y = check_cloud("x", x, self.dim), check_cloud("y", y, self.dim)
        return float(self.distances(x, y[None])[0])

    def distances(self, base: Any, groups: Any) -> Floats:
        """`distance(base, groups[k])` for every k at once: base (b, dim), groups (k, e, dim), to (k,)."""
        base = self._standard(check_cloud("base", base, self.dim))
        groups = self._standard(check_groups(groups, self.dim))
        if self.bandwidth is None:
            raise InputError("the bandwidth is not known before the first fit")
        half = -0.5 / self.bandwidth**2
        to_base = squared_distances(groups, base) * half
        within_base = squared_distances(base, base) * half
        within_groups = squared_distances(groups, groups) * half
        at_base = _log_mean_exp(to_base.swapaxes(1, 2)) - _log_mean_exp(within_base)
        at_groups = _log_mean_exp(within_groups) - _log_mean_exp(to_base)
        return FORMULAS[self.name](at_base, at_groups)

    def state(self) -> Arrays:
        """Everything a later call depends on, as arrays."""
        settings = {
            "kind": KIND,
            "name": self.name,
            "dim": self.dim,
            "bandwidth": self.bandwidth,
            "standardize": self.standardize,
        }
        return pack(settings, {"moments": self.moments.to_arrays()})

    @classmethod
    def from_state(cls, state: Arrays) -> "Divergence":
        settings, parts = unpack(state, KIND)
        bandwidth = "median" if settings["bandwidth"] is None else settings["bandwidth"]
        divergence = cls(settings["name"], settings["dim"], bandwidth, settings["standardize"])
        divergence.moments = Moments.from_arrays(parts["moments"])
        return divergence

    def _standard(self, points: Floats) -> Floats:
        return self.moments.standardize(points) if self.standardize else points


def _log_mean_exp(exponent: Floats) -> Floats:
    """log of the mean of exp over the last axis."""
    top = exponent.max(axis=-1, keepdims=True)
    value: Floats = top[..., 0] + np.log(np.exp(exponent - top).mean(axis=-1))
    return value
