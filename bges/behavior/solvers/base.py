"""What a solver of the dual is given and gives back."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bges.behavior.costs import Cost, Floats
from bges.behavior.random_features import RandomFeatures

Arrays = dict[str, NDArray[np.generic]]
# F has mean 1 at the optimum. Where it is beyond exp(20), half a thousand million, one pair would drown all others and
# its size says nothing more: exponents are cut there, and each cut is counted.
EXPONENT_LIMIT = 20.0


@dataclass(frozen=True, kw_only=True)
class Dual:
    """Two standardised clouds x (n, d) ~ μ and y (m, d) ~ ν, and the dual to be maximised over them."""

    x: Floats
    y: Floats
    cost: Cost
    gamma: float
    features: RandomFeatures


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """What a fit did.

    `values` holds the dual E_μ[λ_μ] − E_ν[λ_ν] − γ E[F] after the steps in `value_steps`, `value` the last of them and
    `mean_f` the mean of F, 1 at the optimum. `clipped` counts the exponents that were cut. `error` is the mean
    violation of the marginals, E_μ|E_ν[F] − 1| or its mirror, whichever is larger; `converged` says it is below the
    solver's tolerance.
    """

    solver: str
    steps: int
    value: float
    mean_f: float
    error: float
    converged: bool
    clipped: int = 0
    value_steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: Floats = field(default_factory=lambda: np.zeros(0))


class Potentials(Protocol):
    """The two test functions on standardised points."""

    def mu(self, points: Floats) -> Floats:
        """λ_μ at points (n, d), as (n,)."""

    def nu(self, points: Floats) -> Floats:
        """λ_ν at points (n, d), as (n,)."""

    def arrays(self) -> Arrays:
        """What `Solver.restore` needs."""


class Solver(Protocol):
    """A way to maximise the dual; its settings are the fields of a frozen dataclass."""

    name: ClassVar[str]
    default_steps: ClassVar[int]

    def fit(
        self, dual: Dual, start: Potentials | None, steps: int, rng: np.random.Generator
    ) -> tuple[Potentials, FitResult]:
        """Better potentials than `start` (None: from zero) and how that went."""

    def restore(self, arrays: Arrays, features: RandomFeatures, cost: Cost, gamma: float) -> Potentials:
        """The potentials whose `arrays()` these are."""


@dataclass(frozen=True, kw_only=True)
class FeaturePotentials:
    """λ_μ = p_μᵀφ + offset and λ_ν = p_νᵀφ in a random-feature space."""

    features: RandomFeatures
    p_mu: Floats
    p_nu: Floats
    offset: float = 0.0

    @classmethod
    def zero(cls, features: RandomFeatures) -> "FeaturePotentials":
        return cls(features=features, p_mu=np.zeros(features.features), p_nu=np.zeros(features.features))

    @classmethod
    def restore(cls, arrays: Arrays, features: RandomFeatures) -> "FeaturePotentials":
        return cls(
            features=features,
            p_mu=np.array(arrays["p_mu"], dtype=np.float64),
            p_nu=np.array(arrays["p_nu"], dtype=np.float64),
            offset=float(arrays["offset"]),
        )

    def mu(self, points: Floats) -> Floats:
        scores: Floats = self.features(points) @ self.p_mu + self.offset
        return scores

    def nu(self, points: Floats) -> Floats:
        scores: Floats = self.features(points) @ self.p_nu
        return scores

    def arrays(self) -> Arrays:
        return {"p_mu": self.p_mu.copy(), "p_nu": self.p_nu.copy(), "offset": np.array(self.offset)}


def marginal_error(f: Floats) -> float:
    """Mean violation of the marginals by F (n, m), the larger of the two sides."""
    return float(max(np.abs(f.mean(axis=1) - 1.0).mean(), np.abs(f.mean(axis=0) - 1.0).mean()))
