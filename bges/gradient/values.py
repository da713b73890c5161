"""The value function and the advantages it gives."""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bges.config.gradient import GradientConfig
from bges.core.state import Arrays, part, prefixed
from bges.gradient.networks import Array, Floats, compiled, leaves, minibatches, mlp, with_leaves
from bges.gradient.samples import Rollouts
from bges.moments import Moments

Shapes = tuple[tuple[int, int], ...]


class Estimates(NamedTuple):
    """Of steps (k, T): values, advantages and the returns that the value function is fitted to."""

    values: Array
    advantages: Array
    returns: Array


def advantages(
    rewards: Array, values: Array, following: Array, terminated: Array, ended: Array, *, discount: float, decay: float
) -> Array:
    """GAE(λ) of k environments (k, T): A_t = δ_t + γλ A_{t+1} within an episode, δ_t = r_t + γ V(s_{t+1}) − V(s_t).

    A terminated episode has no future; one that was cut or ran out of time has that of what it ended with,
    whose value is in `following`.
    """
    deltas = rewards + discount * jnp.where(terminated, 0.0, following) - values

    def back(after: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, last = now
        advantage = delta + discount * decay * jnp.where(last, 0.0, after)
        return advantage, advantage

    _, found = jax.lax.scan(back, jnp.zeros(len(rewards), rewards.dtype), (deltas.T, ended.T), reverse=True)
    return found.T


class ValueFunction:
    """An MLP that predicts returns in units of their running mean and spread.

    When those change, its last layer is changed with them so that it predicts what it did before (Pop-Art, van Hasselt
    et al., 2016).
    """

    def __init__(self, settings: GradientConfig, inputs: int, rng: np.random.Generator) -> None:
        self._settings = settings
        self._shapes = tuple(pairwise((inputs, *settings.value_hidden, 1)))
        parts = [
            np.concatenate([rng.standard_normal(i * o) * (0.01 if o == 1 else 1.0) / np.sqrt(i), np.zeros(o)])
            for i, o in self._shapes
        ]
        self.parameters: Floats = np.concatenate(parts).astype(np.float32)
        self.moments: Moments | None = None
        self._optimizer_state: Any = optax.adam(settings.value_rate).init(jnp.asarray(self.parameters))

    def estimate(self, rollouts: Rollouts) -> Estimates:
        mean, std = self._scale()
        # What single precision cannot hold becomes infinite, and is then named by whoever checks.
        with np.errstate(over="ignore"):
            rewards = rollouts.rewards.astype(np.float32)
        seen = rollouts.inputs, rollouts.following, rewards, rollouts.terminated, rollouts.ended
        return _estimate(self._settings, self._shapes, self.parameters, mean, std, *seen)

    def fit(self, rollouts: Rollouts, returns: Floats, rng: np.random.Generator) -> float:
        """Passes over the batch towards `returns` (k, T); the mean squared error in units of their spread."""
        self._rescale(Moments.of(returns.reshape(-1, 1)))
        mean, std = self._scale()
        inputs = rollouts.inputs.reshape(returns.size, -1)
        size, epochs = min(self._settings.value_minibatch, returns.size), self._settings.value_epochs
        indices = minibatches(rng, returns.size, size, epochs * (returns.size // size))
        targets = (returns.reshape(-1) - mean) / std
        parameters, self._optimizer_state, losses = _fit(
            self._settings, self._shapes, self.parameters, self._optimizer_state, inputs, targets, indices
        )
        self.parameters = np.asarray(parameters)
        return float(np.mean(losses[-(returns.size // size) :]))

    def _scale(self) -> tuple[np.float32, np.float32]:
        if self.moments is None:
            return np.float32(0.0), np.float32(1.0)
        return np.float32(self.moments.mean[0]), np.float32(self.moments.std[0])

    def _rescale(self, seen: Moments) -> None:
        if self.moments is None:
            # There is no prediction worth keeping yet.
            self.moments = seen
            return
        mean, std = (float(value) for value in self._scale())
        self.moments = self.moments.merge(seen)
        new_mean, new_std = (float(value) for value in self._scale())
        last = self._shapes[-1][0] + 1
        layer = self.parameters[-last:].astype(np.float64) * std
        layer[-1] += mean - new_mean
        self.parameters = np.concatenate([self.parameters[:-last], (layer / new_std).astype(np.float32)])

    def state(self) -> Arrays:
        moments = {} if self.moments is None else self.moments.to_arrays()
        optimizer = leaves(self._optimizer_state)
        return {"parameters": self.parameters} | prefixed("optimizer", optimizer) | prefixed("moments", moments)

    def restore(self, arrays: Arrays) -> None:
        self.parameters = np.array(arrays["parameters"], np.float32)
        self.moments = Moments.restored(part(arrays, "moments"))
        self._optimizer_state = with_leaves(self._optimizer_state, part(arrays, "optimizer"))


@compiled
def _estimate(
    settings: GradientConfig,
    shapes: Shapes,
    parameters: Array,
    mean: Array,
    std: Array,
    inputs: Array,
    following: Array,
    rewards: Array,
    terminated: Array,
    ended: Array,
) -> Estimates:
    now, then = (mean + std * mlp(parameters, shapes, x)[..., 0] for x in (inputs, following))
    found = advantages(rewards, now, then, terminated, ended, discount=settings.discount, decay=settings.gae_lambda)
    return Estimates(now, found, found + now)


@compiled
def _fit(
    settings: GradientConfig,
    shapes: Shapes,
    parameters: Array,
    state: Any,
    inputs: Array,
    targets: Array,
    indices: Array,
) -> tuple[Array, Any, Array]:
    optimizer = optax.adam(settings.value_rate)

    def loss(flat: Array, rows: Array) -> Array:
        return jnp.mean(jnp.square(mlp(flat, shapes, inputs[rows])[..., 0] - targets[rows]))

    def step(carry: tuple[Array, Any], rows: Array) -> tuple[tuple[Array, Any], Array]:
        flat, state = carry
        value, gradient = jax.value_and_grad(loss)(flat, rows)
        change, state = optimizer.update(gradient, state)
        return (optax.apply_updates(flat, change), state), value

    (parameters, state), losses = jax.lax.scan(step, (parameters, state), indices)
    return parameters, state, losses
