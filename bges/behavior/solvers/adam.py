"""Adam on the log-sum-exp form of the dual, over all pairs of the two clouds."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bges.behavior.costs import Cost, Floats
from bges.behavior.random_features import RandomFeatures
from bges.behavior.solvers.base import Arrays, Dual, FeaturePotentials, FitResult, Potentials
from bges.checks import check_positive

RECORDS = 20
BETA_1, BETA_2, EPSILON = 0.9, 0.99, 1e-12
# A direction of the feature space with less than this share of the variance is damped: the functions stay smooth.
RIDGE = 0.1


@dataclass(frozen=True, kw_only=True)
class AdamSolver:
    """Ascent on E_μ[λ_μ] − E_ν[λ_ν] − γ log E[exp((λ_μ − λ_ν − C)/γ)], which no exponent can overflow.

    The maximiser is that of the dual up to a constant, which is then set so that F has mean 1. `rate` is in units of
    the mean cost and falls linearly to zero over the steps. Steps are taken in coordinates in which the features of
    each cloud are uncorrelated: a smooth kernel's spectrum is so steep that plain ones leave over 10 % at γ = 0.1.
    """

    name: ClassVar[str] = "adam"
    default_steps: ClassVar[int] = 300
    rate: float = 0.1
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)
        check_positive("tolerance", self.tolerance)

    def fit(
        self, dual: Dual, start: Potentials | None, steps: int, rng: np.random.Generator
    ) -> tuple[FeaturePotentials, FitResult]:
        assert start is None or isinstance(start, FeaturePotentials)
        gamma, cost = dual.gamma, dual.cost(dual.x, dual.y)
        phi_x, phi_y = dual.features(dual.x), dual.features(dual.y)
        start = start or _bumps(dual.features, phi_x, phi_y, float(cost.mean()))
        basis_x, back_x = _whiten(phi_x)
        basis_y, back_y = _whiten(phi_y)
        start_x, start_y = phi_x @ start.p_mu, phi_y @ start.p_nu
        split = basis_x.shape[1]
        q = np.zeros(split + basis_y.shape[1])
        first, second = np.zeros_like(q), np.zeros_like(q)
        scale = self.rate * float(cost.mean())
        recorded, values = [], []
        every = max(1, -(-steps // RECORDS))
        for t in range(1, steps + 1):
            value, _, residual_x, residual_y = _dual(
                start_x + basis_x @ q[:split], start_y + basis_y @ q[split:], cost, gamma
            )
            if (t - 1) % every == 0:
                recorded.append(t - 1)
                values.append(value)
            gradient = np.concatenate([residual_x @ basis_x, -(residual_y @ basis_y)])
            first = BETA_1 * first + (1 - BETA_1) * gradient
            second = BETA_2 * second + (1 - BETA_2) * np.square(gradient)
            direction = first / (1 - BETA_1**t) / (np.sqrt(second / (1 - BETA_2**t)) + EPSILON)
            q += scale * (1 - (t - 1) / steps) * direction
        at_x, at_y = start_x + basis_x @ q[:split], start_y + basis_y @ q[split:]
        value, log_mean, residual_x, residual_y = _dual(at_x, at_y, cost, gamma)
        potentials = FeaturePotentials(
            features=dual.features,
            p_mu=start.p_mu + back_x @ q[:split],
            p_nu=start.p_nu + back_y @ q[split:],
            offset=-gamma * log_mean,
        )
        error = float(max(np.abs(residual_x).sum(), np.abs(residual_y).sum()))
        return potentials, FitResult(
            solver=self.name,
            steps=steps,
            value=value,
            mean_f=1.0,
            error=error,
            converged=error < self.tolerance,
            value_steps=np.array([*recorded, steps], dtype=np.int64),
            values=np.array([*values, value]),
        )

    def restore(self, arrays: Arrays, features: RandomFeatures, cost: Cost, gamma: float) -> FeaturePotentials:
        return FeaturePotentials.restore(arrays, features)


def _bumps(features: RandomFeatures, phi_x: Floats, phi_y: Floats, level: float) -> FeaturePotentials:
    """λ_μ raised around x and λ_ν lowered around y, by half the mean cost each.

    The log-sum-exp form leaves both levels free; from zero they can end with μ's scores the lower ones.
    """
    mean_x, mean_y = phi_x.mean(axis=0), phi_y.mean(axis=0)
    return FeaturePotentials(
        features=features,
        p_mu=level / 2.0 * mean_x / (mean_x @ mean_x),
        p_nu=-level / 2.0 * mean_y / (mean_y @ mean_y),
    )


def _dual(at_x: Floats, at_y: Floats, cost: Floats, gamma: float) -> tuple[float, float, Floats, Floats]:
    """The log-sum-exp dual less γ, log E[F], and its gradient in λ_μ(x) and, with the sign turned, in λ_ν(y)."""
    plan = (at_x[:, None] - at_y - cost) / gamma
    top = float(plan.max())
    plan -= top
    np.exp(plan, out=plan)
    total = float(plan.sum())
    plan /= total
    log_mean = top + float(np.log(total / plan.size))
    value = float(at_x.mean() - at_y.mean()) - gamma * (log_mean + 1.0)
    return value, log_mean, 1.0 / len(at_x) - plan.sum(axis=1), 1.0 / len(at_y) - plan.sum(axis=0)


def _whiten(phi: Floats) -> tuple[Floats, Floats]:
    """A basis of the values that λ can take on a cloud, nearly orthonormal, and the weights p that give each.

    With phi = U S Vᵀ: the values U S (S² + ridge)^-½ and the weights V (S² + ridge)^-½.
    """
    n, m = phi.shape
    spectrum, vectors = np.linalg.eigh(phi @ phi.T if n <= m else phi.T @ phi)
    ridge = RIDGE * n
    seen = spectrum > 1e-12 * n
    spectrum, vectors = spectrum[seen], vectors[:, seen]
    if n <= m:
        values = vectors * np.sqrt(spectrum / (spectrum + ridge))
        return values, phi.T @ (vectors / np.sqrt(spectrum * (spectrum + ridge)))
    weights = vectors / np.sqrt(spectrum + ridge)
    return phi @ weights, weights
