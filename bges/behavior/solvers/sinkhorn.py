"""Sinkhorn's iteration on the two empirical clouds, finished by Newton steps, with soft c-transforms to new points."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bges.behavior.costs import Cost, Floats
from bges.behavior.random_features import RandomFeatures
from bges.behavior.solvers.base import Arrays, Dual, FitResult, Potentials
from bges.checks import check_positive

# Plain iterations between two exact log-domain ones; the scalings stay far from overflow in so few.
INNER = 25
# Plain iterations before Newton's method takes over, and the largest cloud for which it does.
PATIENCE = 50
NEWTON_POINTS = 1500
# Costs up to four times this many γ need no annealing.
ANNEAL = 5.0
SMALLEST_ROW = 1e-100
SMALLEST_STEP = 1e-4


@dataclass(frozen=True, kw_only=True)
class CloudPotentials:
    """λ_μ and λ_ν known at two clouds, elsewhere by the soft c-transform of the other one."""

    x: Floats
    y: Floats
    f: Floats  # λ_μ at x
    g: Floats  # −λ_ν at y
    cost: Cost
    gamma: float

    def mu(self, points: Floats) -> Floats:
        return soft_c_transform(self.cost(self.y, points), self.g, self.gamma)[0]

    def nu(self, points: Floats) -> Floats:
        return -soft_c_transform(self.cost(self.x, points), self.f, self.gamma)[0]

    def arrays(self) -> Arrays:
        return {"x": self.x.copy(), "y": self.y.copy(), "f": self.f.copy(), "g": self.g.copy()}


@dataclass(frozen=True, kw_only=True)
class SinkhornSolver:
    """The exact optimum for the two clouds, to a mean violation of the marginals of `tolerance`.

    A step is one plain iteration or one Newton step.
    """

    name: ClassVar[str] = "sinkhorn"
    default_steps: ClassVar[int] = 5000
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        check_positive("tolerance", self.tolerance)

    def fit(
        self, dual: Dual, start: Potentials | None, steps: int, rng: np.random.Generator
    ) -> tuple[CloudPotentials, FitResult]:
        cost = dual.cost(dual.x, dual.y)
        swapped = len(dual.x) > len(dual.y)  # Newton's matrix is that of the smaller cloud
        run = _Sinkhorn(cost.T if swapped else cost, dual.gamma)
        if start is None:
            run.anneal()
        else:
            run.move_to(-start.nu(dual.y) if swapped else start.mu(dual.x))
        run.solve(steps, self.tolerance)
        potentials = CloudPotentials(
            x=dual.x,
            y=dual.y,
            f=run.g if swapped else run.f,
            g=run.f if swapped else run.g,
            cost=dual.cost,
            gamma=dual.gamma,
        )
        return potentials, FitResult(
            solver=self.name,
            steps=run.steps,
            value=run.values[-1],
            mean_f=1.0,
            error=run.error,
            converged=run.error <= self.tolerance,
            value_steps=np.array(run.value_steps, dtype=np.int64),
            values=np.array(run.values),
        )

    def restore(self, arrays: Arrays, features: RandomFeatures, cost: Cost, gamma: float) -> CloudPotentials:
        x, y, f, g = (np.array(arrays[name], dtype=np.float64) for name in ("x", "y", "f", "g"))
        return CloudPotentials(x=x, y=y, f=f, g=g, cost=cost, gamma=gamma)


def soft_c_transform(cost: Floats, f: Floats, gamma: float) -> tuple[Floats, Floats]:
    """−γ log E_i exp((f_i − C_ij)/γ) as (m,), and exp of the exponents with it added: F, of mean 1 over i."""
    density = (f[:, None] - cost) / gamma
    top = density.max(axis=0)
    density -= top
    np.exp(density, out=density)
    mean = density.mean(axis=0)
    density /= mean
    return -gamma * (top + np.log(mean)), density


class _Sinkhorn:
    """Maximises mean f + mean g(f), where g(f) is the soft c-transform of f, over f (n,) with n <= m."""

    def __init__(self, cost: Floats, gamma: float) -> None:
        self.cost, self.gamma = cost, gamma
        self.steps = 0
        self.value_steps: list[int] = []
        self.values: list[float] = []

    def anneal(self) -> None:
        """Start with one iteration at each of a falling sequence of larger γ, for costs that are large against it."""
        f = np.zeros(len(self.cost))
        gamma = float(np.ptp(self.cost)) / 4.0
        while gamma > ANNEAL * self.gamma:
            g, _ = soft_c_transform(self.cost, f, gamma)
            f, _ = soft_c_transform(self.cost.T, g, gamma)
            gamma /= 4.0
        self.move_to(f)

    def move_to(self, f: Floats) -> None:
        self.f = f
        self.g, self.density = soft_c_transform(self.cost, f, self.gamma)
        self.rows = self.density.mean(axis=1)
        self.error = float(np.abs(self.rows - 1.0).mean())
        self.height = float(f.mean() + self.g.mean())
        self.value_steps.append(self.steps)
        self.values.append(self.height - self.gamma)

    def solve(self, steps: int, tolerance: float) -> None:
        newton = len(self.f) <= NEWTON_POINTS
        while self.error > tolerance and self.steps < steps:
            if newton and self.steps >= PATIENCE:
                self.newton_step()
            else:
                self.plain_steps(min(INNER, steps - self.steps), tolerance)

    def plain_steps(self, count: int, tolerance: float) -> None:
        """At most `count` iterations, as scalings of F where its rows allow it, else one in the log domain."""
        if self.rows.min() < SMALLEST_ROW:
            self.steps += 1
            self.move_to(soft_c_transform(self.cost.T, self.g, self.gamma)[0])
            return
        n, m = self.density.shape
        scaling = 1.0 / self.rows
        self.steps += 1
        for _ in range(count - 1):
            before = scaling
            scaling = m / (self.density @ (n / (before @ self.density)))
            self.steps += 1
            # The ratio of two scalings is the marginal before the second: a test of convergence that costs nothing.
            if np.abs(before / scaling - 1.0).mean() < tolerance:
                break
        self.move_to(self.f + self.gamma * np.log(scaling))

    def newton_step(self) -> None:
        """A damped Newton step on f, halved until it climbs, then a plain iteration, which never descends."""
        n, m = self.density.shape
        matrix = self.density @ self.density.T
        matrix *= -1.0 / (n * m)
        matrix += 1.0 / n  # f is free up to a constant: this picks the step with mean zero
        matrix.flat[:: n + 1] += self.rows + min(1e-3, self.error) * 1e-3 + 1e-13
        direction = np.linalg.solve(matrix, self.gamma * (1.0 - self.rows))
        slope = float(((1.0 - self.rows) * direction).mean())
        size = 1.0
        while size > SMALLEST_STEP:
            trial = self.f + size * direction
            g, _ = soft_c_transform(self.cost, trial, self.gamma)
            if trial.mean() + g.mean() >= self.height + 1e-4 * size * slope - 1e-13 * abs(self.height):
                break
            size /= 2.0
        else:
            g = self.g
        self.steps += 1
        self.move_to(soft_c_transform(self.cost.T, g, self.gamma)[0])
