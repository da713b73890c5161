"""The particle approximation of a Wasserstein trust region (Zhang et al., 2018): the peer of the wall-clock table.

Every state has its own cloud of particles and its own transport problem. The gradient of its distance is smoothed
over the particles by an RBF kernel whose width follows their mean distance, and a line search keeps the distance of
the whole update within the radius.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bges.config.gradient import GradientConfig
from bges.errors import InputError
from bges.gradient.behaviors import action_clouds, cost_scale
from bges.gradient.networks import (
    Array,
    Batch,
    Floats,
    Network,
    compiled,
    minibatches,
    surrogate,
)
from bges.gradient.penalty import Cloud, FeatureMap, Penalty
from bges.gradient.updates import Arrays, Episodes, check_terms, closeness, gain_of, line_search, make_optimizer

# The distance here is that of each state's own problem, solved exactly.
FIXED = {"embedding": "actions", "points": "cloud", "pairs": "per_state", "dual": "sinkhorn"}


class Particles:
    """Steps of ascent on the surrogate less β times the particles' distance, then the line search."""

    def __init__(self, settings: GradientConfig, network: Network) -> None:
        if network.layout.discrete:
            raise InputError("algorithm is 'particles', which needs continuous actions")
        self._settings = settings.model_copy(update=FIXED | {"actions": settings.particles})
        self._network = network

    def __call__(
        self, theta: Floats, batch: Batch, episodes: Episodes | None, rng: np.random.Generator
    ) -> tuple[Floats, dict[str, float]]:
        indices = minibatches(rng, len(batch.inputs), self._settings.minibatch, self._settings.updates)
        key = jax.random.key(int(rng.integers(2**32)))
        after, terms, metrics = _program(self._settings, self._network, theta, batch, indices, key)
        check_terms(terms)
        return np.asarray(after), {name: float(value) for name, value in metrics.items()}

    def state(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        pass


@compiled
def _program(
    settings: GradientConfig, network: Network, first: Array, batch: Batch, indices: Array, key: Array
) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    old, optimizer = network.of(first, batch), make_optimizer(settings)
    keys = jax.random.split(key, len(indices) + 1)

    def step(carry: tuple[Array, Any], now: tuple[Array, Array]) -> tuple[tuple[Array, Any], dict[str, Array]]:
        (theta, state), (rows, key) = carry, now

        def objective(at: Array) -> tuple[Array, dict[str, Array]]:
            new = network.distribution(at, batch.inputs[rows])
            gain = surrogate(new, old.rows(rows), batch.actions[rows], batch.advantages[rows])
            x, y = action_clouds(settings, old.rows(rows), new, batch.inputs[rows], key)
            distance, pull = _pull(settings, x, y)
            # Its gradient in θ is the pull, carried through the particles.
            return gain - settings.beta * jnp.sum(pull * y.points), {"surrogate": gain, "distance": distance}

        slope, terms = jax.grad(objective, has_aux=True)(theta)
        change, state = optimizer.update(-slope, state)
        terms["gradient"] = jnp.linalg.norm(slope)
        return (theta + change, state), terms

    (last, _), terms = jax.lax.scan(step, (first, optimizer.init(first)), (indices, keys[:-1]))

    def distance(theta: Array) -> Array:
        new = network.of(theta, batch)
        return _distance(settings, *action_clouds(settings, old, new, batch.inputs, keys[-1]))

    gain = gain_of(network, first, batch)
    limit = settings.radius / network.layout.outputs
    found = line_search(first, last, gain, distance, limit, shrink=settings.shrink, tries=settings.line_search)
    metrics = closeness(network, first, found.theta, batch) | {
        "surrogate": gain(found.theta),
        "wd": found.distance,
        "beta": jnp.asarray(settings.beta),
        "grad_norm": terms["gradient"][-1],
        "line_search": found.tries,
    }
    return found.theta, terms, metrics


def _pull(settings: GradientConfig, x: Cloud, y: Cloud) -> tuple[Array, Array]:
    """The distance, and its gradient in the particles y (n, k, a) as a function of the kernel's space."""
    x, y = jax.lax.stop_gradient((x, y))
    distance, slope = jax.value_and_grad(lambda points: _distance(settings, x, y._replace(points=points)))(y.points)
    squares = jnp.sum(jnp.square(y.points[:, :, None] - y.points[:, None]), axis=-1)
    kernel = jnp.exp(-squares / jnp.mean(squares, axis=(1, 2), keepdims=True))
    return distance, (kernel / kernel.sum(axis=2, keepdims=True)) @ slope


def _distance(settings: GradientConfig, x: Cloud, y: Cloud) -> Array:
    penalty = Penalty(settings, cost_scale(settings, False, x))
    return penalty.value(jnp.zeros((4, 1)), FeatureMap(jnp.zeros((1, 0)), jnp.zeros(1)), x, y)[0]
