"""Behavioural test functions: the two functions whose means tell two clouds of behaviours apart.

They maximise the smoothed dual

    WD_γ(μ, ν) = max E_μ[λ_μ(x)] − E_ν[λ_ν(y)] − γ E_{μ⊗ν}[F(x, y)],   F = exp((λ_μ(x) − λ_ν(y) − C(x, y)) / γ).

Throughout, x is the cloud of μ and comes first, y that of ν. In BGES μ is the past (the base) and ν the new behaviours.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.behavior.costs import Cost, CostFunction, Floats, make_cost, restore_cost
from bges.behavior.random_features import RandomFeatures, median_width
from bges.behavior.solvers import EXPONENT_LIMIT, Dual, FitResult, Potentials, Solver, make_solver, solver_spec
from bges.behavior.states import Arrays, load_arrays, pack, save_arrays, unpack
from bges.checks import check_array, check_choice, check_positive, check_whole
from bges.errors import InputError
from bges.moments import Moments

PAIR_STREAM = 102
KIND = "TestFunctions"


def check_cloud(name: str, points: Any, dim: int) -> Floats:
    """Points as a finite (n, dim) array with n >= 1."""
    cloud = check_array(name, points, (None, dim))
    if len(cloud) == 0:
        raise InputError(f"{name} is empty: a cloud needs at least one point")
    return cloud


def merged_units(moments: Moments, x: Floats, y: Floats, units: Any = None) -> Moments:
    """With the points that set the units of standardisation: those given, or both clouds."""
    clouds = (x, y) if units is None else (check_cloud("units", units, x.shape[1]),)
    for cloud in clouds:
        moments = moments.merge(Moments.of(cloud))
    return moments


class TestFunctions:
    """λ_μ and λ_ν for two clouds of behaviours (n, dim), fitted again and again from where they were.

    With `standardize`, points are first put in units of the running mean and spread of all clouds ever fitted, or of
    the points that `fit` is given as `units`. The
    kernel `width` is a number or "median", the median distance of the first fit's two clouds, and then stays. Weights
    are kept in those coordinates: when the running statistics move, the functions move along. `solver` is "sgd",
    "adam", "sinkhorn" or an object of `bges.behavior.solvers`. `clipped` counts the exponents cut so far.
    """

    __test__ = False

    def __init__(
        self,
        dim: int,
        features: int = 1000,
        width: float | str = "median",
        gamma: float = 1.0,
        cost: str | CostFunction | Cost = "squared_l2",
        solver: str | Solver = "sgd",
        standardize: bool = True,
        seed: int = 0,
    ) -> None:
        self.dim = check_whole("dim", dim)
        self.features = check_whole("features", features)
        if isinstance(width, str):
            check_choice("width", width, ["median"])
        self.width = None if isinstance(width, str) else float(check_positive("width", width))
        self.gamma = float(check_positive("gamma", gamma))
        self.cost = make_cost(cost)
        self.solver = make_solver(solver)
        self.standardize = bool(standardize)
        self.seed = check_whole("seed", seed, least=0)
        self.fits = 0
        self.clipped = 0
        self.moments = Moments.empty(self.dim)
        self.potentials: Potentials | None = None
        self._map: RandomFeatures | None = None

    def fit(self, x: Any, y: Any, steps: int | None = None, units: Any = None) -> FitResult:
        """Improve both functions on x (n, dim) ~ μ and y (m, dim) ~ ν; `steps` None is the solver's usual number.

        The spread of `units` (k, dim) counts for the standardisation; None is that of x and y.
        """
        x, y = check_cloud("x", x, self.dim), check_cloud("y", y, self.dim)
        steps = self.solver.default_steps if steps is None else check_whole("steps", steps)
        self.moments = merged_units(self.moments, x, y, units)
        x, y = self._standard(x), self._standard(y)
        if self.width is None:
            self.width = median_width(np.concatenate([x, y]))
        rng = np.random.default_rng((self.seed, PAIR_STREAM, self.fits))
        self.potentials, result = self.solver.fit(self._dual(x, y), self.potentials, steps, rng)
        self.fits += 1
        self.clipped += result.clipped
        return result

    def score_mu(self, points: Any) -> Floats:
        """λ_μ at points (n, dim), as (n,): high where μ has mass that ν lacks."""
        return self._fitted().mu(self._standard(check_cloud("points", points, self.dim)))

    def score_nu(self, points: Any) -> Floats:
        """λ_ν at points (n, dim), as (n,): low where ν has mass that μ lacks."""
        return self._fitted().nu(self._standard(check_cloud("points", points, self.dim)))

    def distance(self, x: Any, y: Any) -> float:
        """The fitted functions in the dual's estimator Ê[λ_μ(x) − λ_ν(y)] − γ Ê[F], over x (n, dim) and y (m, dim).

        It estimates WD_γ for clouds like those fitted, and is a lower bound for all others. It is −γ, not 0, for two
        equal points: see `debiased_distance`.
        """
        x, y = check_cloud("x", x, self.dim), check_cloud("y", y, self.dim)
        return float(self.distances(x, y[None])[0])

    def distances(self, base: Any, groups: Any) -> Floats:
        """`distance(base, groups[k])` for every k at once: base (b, dim) ~ μ, groups (k, e, dim) ~ ν, to (k,)."""
        base = self._standard(check_cloud("base", base, self.dim))
        groups = check_groups(groups, self.dim)
        k, e, _ = groups.shape
        points = self._standard(groups).reshape(k * e, self.dim)
        at_base, at_points, f = self._terms(base, points)
        estimate = at_base.mean() - at_points - self.gamma * f.mean(axis=0)
        means: Floats = estimate.reshape(k, e).mean(axis=1)
        return means

    def contributions(self, x: Any, y: Any) -> tuple[Floats, Floats]:
        """What each point adds to `distance(x, y)`: λ_μ(x) − γ E_ν[F] for x, and −λ_ν(y) − γ E_μ[F] for y.

        A point of x that moves to where its number is higher moves μ away from ν, and so for y.
        """
        x, y = (self._standard(check_cloud(name, points, self.dim)) for name, points in (("x", x), ("y", y)))
        at_x, at_y, f = self._terms(x, y)
        return at_x - self.gamma * f.mean(axis=1), -at_y - self.gamma * f.mean(axis=0)

    def _terms(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """λ_μ at x, λ_ν at y and F between them, of standardised points."""
        potentials = self._fitted()
        at_x, at_y = potentials.mu(x), potentials.nu(y)
        return at_x, at_y, self._exponential((at_x[:, None] - at_y - self.cost(x, y)) / self.gamma)

    def debiased_distance(self, x: Any, y: Any, steps: int | None = None) -> float:
        """WD(μ,ν) − ½ WD(μ,μ) − ½ WD(ν,ν), all three solved afresh with the same budget: 0 for equal clouds.

        The functions themselves stay as they are; the standardisation and width are theirs once they are fitted, before
        that those of x and y.
        """
        x, y = check_cloud("x", x, self.dim), check_cloud("y", y, self.dim)
        twin = TestFunctions(
            self.dim, self.features, "median", self.gamma, self.cost, self.solver, self.standardize, self.seed
        )
        twin.width, twin.moments = self.width, self.moments
        if self.fits == 0:
            twin.moments = merged_units(twin.moments, x, y)
        x, y = twin._standard(x), twin._standard(y)
        twin.width = twin.width or median_width(np.concatenate([x, y]))
        twin.moments, twin.standardize = Moments.empty(self.dim), False
        values = []
        for first, second in ((x, y), (x, x), (y, y)):
            twin.potentials, twin.fits = None, 0
            twin.fit(first, second, steps)
            values.append(twin.distance(first, second))
        self.clipped += twin.clipped
        return values[0] - values[1] / 2.0 - values[2] / 2.0

    def standardized(self, points: Any) -> Floats:
        """Points (n, dim) in the coordinates that the cost and the features see."""
        return self._standard(check_cloud("points", points, self.dim))

    def state(self) -> Arrays:
        """Everything a later `fit` depends on, as arrays; `from_state` goes on byte for byte."""
        settings = {
            "kind": KIND,
            "dim": self.dim,
            "features": self.features,
            "width": self.width,
            "gamma": self.gamma,
            "cost": self.cost.spec,
            "solver": solver_spec(self.solver),
            "standardize": self.standardize,
            "seed": self.seed,
            "fits": self.fits,
            "clipped": self.clipped,
        }
        parts: dict[str, Arrays] = {"moments": self.moments.to_arrays()}
        if self.potentials is not None:
            parts["potentials"] = self.potentials.arrays()
        if self._map is not None:
            parts["map"] = {"check": _fingerprint(self._map)}
        return pack(settings, parts)

    @classmethod
    def from_state(cls, state: Arrays, *, cost: CostFunction | Cost | None = None) -> "TestFunctions":
        """The test functions of `state()`; a cost that is not built in must be given again."""
        settings, parts = unpack(state, KIND)
        solver = settings["solver"]
        functions = cls(
            settings["dim"],
            settings["features"],
            "median" if settings["width"] is None else settings["width"],
            settings["gamma"],
            restore_cost(settings["cost"], cost),
            make_solver(solver["name"], **solver["kwargs"]),
            settings["standardize"],
            settings["seed"],
        )
        functions.fits, functions.clipped = settings["fits"], settings["clipped"]
        functions.moments = Moments.from_arrays(parts["moments"])
        if "map" in parts and not np.array_equal(_fingerprint(functions.feature_map), parts["map"]["check"]):
            raise InputError("this numpy draws other random features than the one that saved these test functions")
        if "potentials" in parts:
            functions.potentials = functions.solver.restore(
                parts["potentials"], functions.feature_map, functions.cost, functions.gamma
            )
        return functions

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `state()` as one .npz file."""
        save_arrays(path, self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, cost: CostFunction | Cost | None = None) -> "TestFunctions":
        """Read what `save` wrote; nothing in the file is executed."""
        return cls.from_state(load_arrays(path), cost=cost)

    @property
    def feature_map(self) -> RandomFeatures:
        """φ, once the width is known."""
        if self.width is None:
            raise InputError("the kernel width is not known before the first fit")
        if self._map is None or self._map.width != self.width:
            self._map = RandomFeatures(self.dim, self.features, self.width, self.seed)
        return self._map

    def _dual(self, x: Floats, y: Floats) -> Dual:
        return Dual(x=x, y=y, cost=self.cost, gamma=self.gamma, features=self.feature_map)

    def _standard(self, points: Floats) -> Floats:
        return self.moments.standardize(points) if self.standardize else points

    def _fitted(self) -> Potentials:
        if self.potentials is None:
            raise InputError("these test functions are not fitted yet: call fit(x, y) first")
        return self.potentials

    def _exponential(self, exponent: Floats) -> Floats:
        over = int((exponent > EXPONENT_LIMIT).sum())
        self.clipped += over
        return np.exp(np.minimum(exponent, EXPONENT_LIMIT))


def check_groups(groups: Any, dim: int) -> Floats:
    """Groups as a finite (k, e, dim) array with k, e >= 1."""
    array = check_array("groups", groups, (None, None, dim))
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InputError(f"groups has shape {array.shape}: every group needs at least one point")
    return array


def _fingerprint(features: RandomFeatures) -> NDArray[np.float64]:
    return np.concatenate([features.frequencies[-1], features.phases[-1:]])
