"""Trust region policy optimisation (Schulman et al., 2015): the natural gradient, and a line search within KL ≤ δ."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from bges.config.gradient import TrpoConfig
from bges.gradient.clouds import EpisodePoints
from bges.gradient.networks import Array, Batch, Floats, Network, compiled
from bges.gradient.updates import Step, Update, gain_of, line_search, step_to


class Trpo(Update[TrpoConfig]):
    def _step(self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, rng: np.random.Generator) -> Step:
        return trpo_step(self._settings, self._network, theta, batch)


def fisher_product(network: Network, theta: Array, batch: Batch, vector: Array) -> Array:
    """The Fisher matrix of the policy times a vector: second derivative of the mean KL divergence at no change."""
    old = jax.lax.stop_gradient(network.of(theta, batch))
    slope = jax.grad(lambda at: old.kl(network.of(at, batch)).mean())
    return jax.jvp(slope, (theta,), (vector,))[1]


@compiled
def trpo_step(settings: TrpoConfig, network: Network, theta: Array, batch: Batch) -> Step:
    old, gain = network.of(theta, batch), gain_of(network, theta, batch)

    def curved(vector: Array) -> Array:
        return fisher_product(network, theta, batch, vector) + settings.cg_damping * vector

    gradient = jax.grad(gain)(theta)
    direction = conjugate_gradient(curved, gradient, settings.cg_steps)
    curvature = jnp.dot(direction, curved(direction))
    furthest = theta + direction * jnp.sqrt(2.0 * settings.max_kl / jnp.maximum(curvature, 1e-12))

    def distance(at: Array) -> Array:
        return old.kl(network.of(at, batch)).mean()

    found = line_search(settings, network, batch, theta, furthest, distance, settings.max_kl)
    norm = jnp.linalg.norm(gradient)
    terms = {"gradient of the surrogate": norm, "natural gradient": curvature}
    return step_to(network, theta, found.theta, batch, terms, grad_norm=norm, line_search=found.tries)


def conjugate_gradient(product: Callable[[Array], Array], right: Array, steps: int) -> Array:
    """x with product(x) ≈ right, for a positive definite product; stops moving where the residual is gone."""

    def step(_: int, now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, residual, direction = now
        along = product(direction)
        square = jnp.dot(residual, residual)
        alpha = jnp.where(square > 1e-10, square / jnp.maximum(jnp.dot(direction, along), 1e-30), 0.0)
        x, new = x + alpha * direction, residual - alpha * along
        beta = jnp.where(square > 1e-10, jnp.dot(new, new) / jnp.maximum(square, 1e-30), 0.0)
        return x, new, new + beta * direction

    x, _, _ = jax.lax.fori_loop(0, steps, step, (jnp.zeros_like(right), right, right))
    return x
