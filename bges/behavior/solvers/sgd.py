"""Algorithm 1 of the paper: stochastic ascent on the dual in a random-feature space."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bges.behavior.costs import Cost, Floats
from bges.behavior.random_features import RandomFeatures
from bges.behavior.solvers.base import (
    EXPONENT_LIMIT,
    Arrays,
    Dual,
    FeaturePotentials,
    FitResult,
    Potentials,
    marginal_error,
)
from bges.checks import check_positive, check_whole

Indices = NDArray[np.intp]
RECORDS = 5


@dataclass(frozen=True, kw_only=True)
class SgdSolver:
    """p_μ += α/√t (1 − F) φ(x), p_ν −= α/√t (1 − F) φ(y) for random pairs (x, y), or the mean over `batch` pairs.

    `step` is α. Exponents of F above `clip` are cut and counted. Diagnostics are taken on the points that were drawn.
    """

    name: ClassVar[str] = "sgd"
    default_steps: ClassVar[int] = 100
    step: float = 0.01
    batch: int = 1
    clip: float = EXPONENT_LIMIT
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        check_whole("batch", self.batch)
        check_positive("clip", self.clip)
        check_positive("tolerance", self.tolerance)

    def fit(
        self, dual: Dual, start: Potentials | None, steps: int, rng: np.random.Generator
    ) -> tuple[FeaturePotentials, FitResult]:
        assert start is None or isinstance(start, FeaturePotentials)
        start = start or FeaturePotentials.zero(dual.features)
        shape = (steps, self.batch)
        drawn_x, i = np.unique(rng.integers(len(dual.x), size=shape), return_inverse=True)
        drawn_y, j = np.unique(rng.integers(len(dual.y), size=shape), return_inverse=True)
        i, j = i.reshape(shape), j.reshape(shape)
        x, y = dual.x[drawn_x], dual.y[drawn_y]
        phi_x, phi_y = dual.features(x), dual.features(y)
        run = _Ascent(self, dual.gamma, dual.cost(x, y), phi_x @ phi_x.T, phi_y @ phi_y.T)
        run.start(phi_x @ start.p_mu + start.offset, phi_y @ start.p_nu)
        recorded, values = [], []
        every = max(1, -(-steps // RECORDS))
        for done in range(0, steps, every):
            for t in range(done, min(done + every, steps)):
                run.single_step(t + 1, i[t, 0], j[t, 0]) if self.batch == 1 else run.step(t + 1, i[t], j[t])
            value, f = run.dual()
            recorded.append(min(done + every, steps))
            values.append(value)
        # Both updates are sums of features of the drawn points, so the weights follow from the coefficients.
        potentials = FeaturePotentials(
            features=dual.features,
            p_mu=start.p_mu + run.weight_x @ phi_x,
            p_nu=start.p_nu - run.weight_y @ phi_y,
            offset=start.offset,
        )
        error = marginal_error(f)
        return potentials, FitResult(
            solver=self.name,
            steps=steps,
            value=values[-1],
            mean_f=float(f.mean()),
            error=error,
            converged=error < self.tolerance and not run.clipped,
            clipped=run.clipped,
            value_steps=np.array(recorded, dtype=np.int64),
            values=np.array(values),
        )

    def restore(self, arrays: Arrays, features: RandomFeatures, cost: Cost, gamma: float) -> FeaturePotentials:
        return FeaturePotentials.restore(arrays, features)


class _Ascent:
    """The steps in kernel form: λ is carried as its values at the drawn points, never as m feature weights."""

    def __init__(self, settings: SgdSolver, gamma: float, cost: Floats, kernel_x: Floats, kernel_y: Floats) -> None:
        self.settings, self.gamma, self.cost = settings, gamma, cost
        self.kernel_x, self.kernel_y = kernel_x, kernel_y
        self.weight_x, self.weight_y = np.zeros(len(kernel_x)), np.zeros(len(kernel_y))
        self.clipped = 0

    def start(self, at_x: Floats, at_y: Floats) -> None:
        self.at_x, self.at_y = at_x, at_y

    def single_step(self, t: int, i: int, j: int) -> None:
        """One update by the pair (i, j): `step` without the cost of small arrays, twice as fast."""
        exponent = (self.at_x[i] - self.at_y[j] - self.cost[i, j]) / self.gamma
        if exponent > self.settings.clip:
            self.clipped += 1
            exponent = self.settings.clip
        change = self.settings.step / math.sqrt(t) * (1.0 - math.exp(exponent))
        self.at_x += change * self.kernel_x[i]
        self.at_y -= change * self.kernel_y[j]
        self.weight_x[i] += change
        self.weight_y[j] += change

    def step(self, t: int, i: Indices, j: Indices) -> None:
        """One update by the pairs (i, j), each (batch,)."""
        exponent = (self.at_x[i] - self.at_y[j] - self.cost[i, j]) / self.gamma
        if exponent.max() > self.settings.clip:
            self.clipped += int((exponent > self.settings.clip).sum())
            exponent = np.minimum(exponent, self.settings.clip)
        rate = self.settings.step / math.sqrt(t) / len(i)
        change = rate * (1.0 - np.exp(exponent))
        self.at_x += change @ self.kernel_x[i]
        self.at_y -= change @ self.kernel_y[j]
        np.add.at(self.weight_x, i, change)
        np.add.at(self.weight_y, j, change)

    def dual(self) -> tuple[float, Floats]:
        """The dual over all pairs of drawn points, and F."""
        exponent = (self.at_x[:, None] - self.at_y - self.cost) / self.gamma
        over = int((exponent > self.settings.clip).sum())
        self.clipped += over
        f = np.exp(np.minimum(exponent, self.settings.clip))
        return float(self.at_x.mean() - self.at_y.mean() - self.gamma * f.mean()), f
