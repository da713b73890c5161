"""The particle approximation of a Wasserstein trust region (Zhang et al., 2018): the peer of the wall-clock table.

Every state has its own cloud of particles and its own transport problem. The gradient of its distance is smoothed
over the particles by an RBF kernel whose width follows their mean distance, and a line search keeps the distance of
the whole update within the radius.
"""

import jax
import jax.numpy as jnp
import numpy as np

from bges.config.gradient import ParticlesConfig
from bges.errors import InputError
from bges.gradient.clouds import Comparison, EpisodePoints, action_clouds
from bges.gradient.networks import Array, Batch, Floats, Network, compiled, surrogate
from bges.gradient.penalty import Cloud, Penalty
from bges.gradient.updates import Point, Step, Terms, Update, climb, drawn, line_search, make_optimizer, step_to


class Particles(Update[ParticlesConfig]):
    """Steps of ascent on the surrogate less β times the particles' distance, then the line search."""

    def __init__(self, settings: ParticlesConfig, network: Network, seed: int = 0) -> None:
        if network.layout.discrete:
            raise InputError("algorithm is 'particles', which needs continuous actions")
        super().__init__(settings, network, seed)

    def _step(self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, rng: np.random.Generator) -> Step:
        return particles_step(self._settings, self._network, theta, batch, *drawn(self._settings, batch, rng))


@compiled
def particles_step(
    settings: ParticlesConfig, network: Network, first: Array, batch: Batch, indices: Array, key: Array
) -> Step:
    comparison, old = Comparison(settings, network), network.of(first, batch)
    keys = jax.random.split(key, len(indices) + 1)

    def objective(at: Point, rows: Array, key: Array) -> tuple[Array, Terms]:
        some = batch.rows(rows)
        new = network.of(at.theta, some)
        gain = surrogate(new, old.rows(rows), some)
        x, y = action_clouds(settings, old.rows(rows), new, some.inputs, key)
        distance, pull = _pull(comparison.penalty(x), x, y)
        # Its gradient in θ is the pull, carried through the particles.
        return gain - settings.beta * jnp.sum(pull * y.points), {"surrogate": gain, "distance": distance}

    last, terms = climb(objective, Point(first), make_optimizer(settings), indices, keys[:-1])

    def distance(theta: Array) -> Array:
        x, y = action_clouds(settings, old, network.of(theta, batch), batch.inputs, keys[-1])
        return comparison.penalty(x).value(x, y)[0]

    limit = comparison.per_dimension(settings.radius)
    found = line_search(settings, network, batch, first, last.theta, distance, limit)
    more = {"wd": found.distance, "beta": jnp.asarray(settings.beta), "line_search": found.tries}
    return step_to(network, first, found.theta, batch, terms, grad_norm=terms["gradient"][-1], **more)


def _pull(penalty: Penalty, x: Cloud, y: Cloud) -> tuple[Array, Array]:
    """The distance, and its gradient in the particles y (n, k, a) as a function of the kernel's space."""
    x, y = jax.lax.stop_gradient((x, y))
    distance, slope = jax.value_and_grad(lambda points: penalty.value(x, y._replace(points=points))[0])(y.points)
    squares = jnp.sum(jnp.square(y.points[:, :, None] - y.points[:, None]), axis=-1)
    kernel = jnp.exp(-squares / jnp.mean(squares, axis=(1, 2), keepdims=True))
    return distance, (kernel / kernel.sum(axis=2, keepdims=True)) @ slope
