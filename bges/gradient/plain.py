"""Plain policy gradient: steps on minibatches, with nothing to hold them back."""

import jax
import numpy as np

from bges.config.gradient import PlainConfig
from bges.gradient.clouds import EpisodePoints
from bges.gradient.networks import Array, Batch, Floats, Network, compiled, surrogate
from bges.gradient.updates import Point, Step, Terms, Update, climb, drawn, make_optimizer, step_to


class Plain(Update[PlainConfig]):
    def _step(self, theta: Floats, batch: Batch, episodes: EpisodePoints | None, rng: np.random.Generator) -> Step:
        return plain_step(self._settings, self._network, theta, batch, *drawn(self._settings, batch, rng))


@compiled
def plain_step(settings: PlainConfig, network: Network, first: Array, batch: Batch, indices: Array, key: Array) -> Step:
    old = network.of(first, batch)

    def objective(at: Point, rows: Array, _: Array) -> tuple[Array, Terms]:
        some = batch.rows(rows)
        gain = surrogate(network.of(at.theta, some), old.rows(rows), some)
        return gain, {"surrogate": gain}

    keys = jax.random.split(key, len(indices))
    last, terms = climb(objective, Point(first), make_optimizer(settings), indices, keys)
    return step_to(network, first, last.theta, batch, terms, grad_norm=terms["gradient"][-1])
