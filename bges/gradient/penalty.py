"""The smoothed Wasserstein distance of two policies' behaviours, differentiable in both and in its test functions.

    WD_γ(μ, ν) = max E_μ[λ_μ(x)] − E_ν[λ_ν(y)] − γ E[F(x, y)],   F = exp((λ_μ(x) − λ_ν(y) − C(x, y)) / γ)

as in `bges.behavior.test_functions`, for clouds that come state by state.
"""

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bges.behavior import RandomFeatures
from bges.behavior.solvers import EXPONENT_LIMIT
from bges.config.gradient import DistanceConfig
from bges.gradient.networks import Array

T = TypeVar("T")
# sin(πr) = r (... + c₁ r²) on |r| ≤ ½: coefficients of r⁸ ... r⁰, fitted to the least relative error.
SINE = (0.0776576603106068, -0.5982912856227081, 2.550077523214935, -5.167710083507907, 3.141592640130709)
SMALLEST = 1e-30
# Rows of test functions: of the cross term, and of each cloud with itself.
MU, NU, SELF_MU, SELF_NU = range(4)


class Cloud(NamedTuple):
    """k weighted points in each of n states: `points` (n, k, d), `states` (n, s), `log_weights` (n, k)."""

    points: Array
    states: Array
    log_weights: Array


class FeatureMap(NamedTuple):
    """φ(x) = sqrt(2/m) cos(Gx + b), with G (m, d + s) and b (m,) in turns of 2π."""

    frequencies: Array
    phases: Array

    @classmethod
    def of(cls, features: RandomFeatures) -> "FeatureMap":
        turns = (array / (2.0 * np.pi) for array in (features.frequencies, features.phases))
        return cls(*(jnp.asarray(array, jnp.float32) for array in turns))

    def __call__(self, cloud: Cloud) -> Array:
        """(n, k, m); what the state adds to the angles is computed once for all its points."""
        dim = cloud.points.shape[-1]
        turns = cloud.points @ self.frequencies[:, :dim].T
        turns += (cloud.states @ self.frequencies[:, dim:].T + self.phases)[:, None]
        return jnp.sqrt(2.0 / len(self.phases)) * cosine(turns)


def cosine(turns: Array) -> Array:
    """cos(2πt) = 1 − 2 sin²(πr), r = t less the nearest whole number, to 1e-6.

    XLA calls the library's cosine for one number at a time on CPUs; this is vectorised and 13 times faster.
    """
    r = turns - jax.lax.stop_gradient(jnp.round(turns))
    square, sine = r * r, jnp.zeros_like(r)
    for coefficient in SINE:
        sine = sine * square + coefficient
    return 1.0 - 2.0 * jnp.square(sine * r)


class Penalty:
    """Distances of clouds whose rows are states; `scale` divides squared distances."""

    def __init__(self, settings: DistanceConfig, scale: float) -> None:
        self._settings, self._scale = settings, scale

    def value(
        self, x: Cloud, y: Cloud, weights: Array | None = None, features: FeatureMap | None = None
    ) -> tuple[Array, Array]:
        """The distance by test functions with feature weights (4, m), and how many exponents were cut.

        Without weights it is that of the best functions in each state. The gradient in the weights of a self term
        points down where debiased: see `ascent`.
        """
        x = self._partner(x)
        phi_x, phi_y = (None, None) if features is None else (features(x), features(y))
        value, clipped = self._term(x, y, _at(phi_x, weights, MU), _at(phi_y, weights, NU))
        if not self._settings.debias:
            return value, clipped
        for cloud, phi, row in ((x, phi_x, SELF_MU), (y, phi_y, SELF_NU)):
            at = _at(phi, weights, row)
            other = None if at is None else -self._partner(at)
            own, cut = self._term(cloud, self._partner(cloud), at, other)
            value, clipped = value - 0.5 * own, clipped + cut
        return value, clipped

    def _partner(self, cloud: T) -> T:
        """What each state's points are paired with: their own state's, or those of another."""
        if self._settings.pairs != "product":
            return cloud
        return jax.tree.map(lambda part: jnp.roll(part, 1, axis=0), cloud)

    def _term(self, x: Cloud, y: Cloud, at_x: Array | None, at_y: Array | None) -> tuple[Array, Array]:
        """A dual with test functions that have these values, or the best ones."""
        cost = self.cost(x, y)
        if at_x is None or at_y is None:
            at_x, at_y = self.potentials(cost, x.log_weights, y.log_weights)
        return self.dual(at_x, at_y, cost, x.log_weights, y.log_weights)

    def cost(self, x: Cloud, y: Cloud) -> Array:
        """‖x − y‖² divided by the scale, (n, k, k'); states count where pairs are made across them."""
        points_x, points_y = (_at_least_two(cloud.points) for cloud in (x, y))
        own_x, own_y = (jnp.einsum("nkd,nkd->nk", points, points) for points in (points_x, points_y))
        products = jnp.einsum("nid,njd->nij", points_x, points_y)
        squares = jnp.maximum(own_x[:, :, None] + own_y[:, None] - 2.0 * products, 0.0)
        if self._settings.pairs == "product":
            squares += jnp.sum(jnp.square(x.states - y.states), axis=-1)[:, None, None]
        return squares / self._scale

    def dual(self, at_x: Array, at_y: Array, cost: Array, log_x: Array, log_y: Array) -> tuple[Array, Array]:
        """The dual of test functions with values (n, k) and (n, k'), and how many exponents were cut."""
        gamma, states = self._settings.gamma, len(at_x)
        means = (jnp.sum(jnp.exp(log_x) * at_x) - jnp.sum(jnp.exp(log_y) * at_y)) / states
        exponents = (at_x[:, :, None] - at_y[:, None] - cost) / gamma
        logs = log_x[:, :, None] + log_y[:, None]
        if self._settings.dual == "sgd":
            clipped = jnp.sum(exponents > EXPONENT_LIMIT)
            f = jnp.sum(jnp.exp(logs + jnp.minimum(exponents, EXPONENT_LIMIT))) / states
            return means - gamma * f, clipped
        none = jnp.zeros((), jnp.int32)
        if self._settings.pairs == "per_state":
            return means - gamma * (jnp.mean(jax.nn.logsumexp(exponents + logs, axis=(1, 2))) + 1.0), none
        return means - gamma * (jax.nn.logsumexp(exponents + logs) - jnp.log(states) + 1.0), none

    def potentials(self, cost: Array, log_x: Array, log_y: Array) -> tuple[Array, Array]:
        """λ_μ at x and λ_ν at y of each state's own problem, by Sinkhorn's iteration; constants to a gradient."""
        gamma = self._settings.gamma
        cost, log_x, log_y = jax.lax.stop_gradient((cost, log_x, log_y))
        # Scaled by what makes the largest entry of each row 1, which the mean of two steps below changes little.
        nearest = cost.min(axis=2)
        kernel = jnp.exp((nearest[:, :, None] - cost) / gamma)
        weights_x, weights_y = jnp.exp(log_x), jnp.exp(log_y)

        def iterate(_: int, scales: tuple[Array, Array]) -> tuple[Array, Array]:
            u, v = scales
            # As products of matrices: XLA's sums along a short axis are three times slower on CPUs.
            new_u = 1.0 / jnp.maximum(jnp.einsum("nij,nj->ni", kernel, weights_y * v), SMALLEST)
            new_v = 1.0 / jnp.maximum(jnp.einsum("nij,ni->nj", kernel, weights_x * u), SMALLEST)
            # Both at once and half way: self terms stay symmetric, and converge faster.
            return jnp.sqrt(u * new_u), jnp.sqrt(v * new_v)

        start = jnp.ones_like(log_x), jnp.ones_like(log_y)
        u, v = jax.lax.fori_loop(0, self._settings.sinkhorn_steps, iterate, start)
        return jax.lax.stop_gradient((gamma * jnp.log(u) + nearest, -gamma * jnp.log(v)))

    @staticmethod
    def ascent(gradient: Array) -> Array:
        """The direction (4, m) in which every test function's own dual rises, of the gradient of `value`."""
        return gradient * jnp.array([1.0, 1.0, -2.0, -2.0], gradient.dtype)[:, None]


def _at_least_two(points: Array) -> Array:
    """Points (n, k, d) with a zero beside a lone coordinate: XLA's products of matrices (k, 1) are slow, not (k, 2)."""
    return jnp.pad(points, ((0, 0), (0, 0), (0, 1))) if points.shape[2] == 1 else points


def _at(phi: Array | None, weights: Array | None, row: int) -> Array | None:
    return None if phi is None or weights is None else phi @ weights[row]
