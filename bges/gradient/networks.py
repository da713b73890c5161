"""The policy and the value function in JAX, on the same flat vectors as in numpy."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bges.core.state import Arrays
from bges.stochastic import Layout

Array = jax.Array
Floats = NDArray[np.float32]
R = TypeVar("R")
# A ratio beyond exp of this says nothing more, and its square would overflow float32.
LOG_RATIO_LIMIT = 20.0


def fix_bits() -> None:
    """Let XLA use one thread, before it starts: with more, sums depend on the machine's number of cores."""
    os.environ.setdefault("PJRT_NPROC", "1")


def compiled(function: Callable[..., R]) -> Callable[..., R]:
    """`jax.jit` for a function of settings and an architecture, compiled once for each in a process, and of arrays."""
    return cast(Callable[..., R], jax.jit(function, static_argnums=(0, 1)))


class Distribution(NamedTuple):
    """Actions in n states: means (n, a) and log standard deviations (a,), or logits (n, a) and None."""

    outputs: Array
    log_std: Array | None

    def log_prob(self, actions: Array) -> Array:
        """(n,), of actions (n, a) or numbers of discrete ones (n,)."""
        if self.log_std is None:
            chosen = jnp.take_along_axis(jax.nn.log_softmax(self.outputs), actions[..., None], axis=-1)
            return chosen[..., 0]
        z = (actions - self.outputs) * jnp.exp(-self.log_std)
        return -0.5 * jnp.sum(z * z + 2.0 * self.log_std + jnp.log(2.0 * jnp.pi), axis=-1)

    def kl(self, other: "Distribution") -> Array:
        """KL(self ‖ other) in each state, (n,)."""
        if self.log_std is None or other.log_std is None:
            mine, others = jax.nn.log_softmax(self.outputs), jax.nn.log_softmax(other.outputs)
            return jnp.sum(jnp.exp(mine) * (mine - others), axis=-1)
        ratio = 2.0 * (self.log_std - other.log_std)
        z = (self.outputs - other.outputs) * jnp.exp(-other.log_std)
        return 0.5 * jnp.sum(jnp.exp(ratio) - 1.0 - ratio + z * z, axis=-1)

    def entropy(self) -> Array:
        if self.log_std is None:
            logs = jax.nn.log_softmax(self.outputs)
            return -jnp.mean(jnp.sum(jnp.exp(logs) * logs, axis=-1))
        return jnp.sum(self.log_std + 0.5 * jnp.log(2.0 * jnp.pi * jnp.e))

    def rows(self, indices: Array) -> "Distribution":
        return Distribution(self.outputs[indices], self.log_std)


class Batch(NamedTuple):
    """n sampled steps, environment after environment; `noise` (environments, k) of noisy layers, or None."""

    inputs: Array
    actions: Array
    advantages: Array
    noise: Array | None = None

    def rows(self, indices: Array) -> "Batch":
        """Some of the steps, of layers at rest."""
        return Batch(self.inputs[indices], self.actions[indices], self.advantages[indices])


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"tanh": jnp.tanh, "relu": jax.nn.relu}


def mlp(flat: Array, shapes: tuple[tuple[int, int], ...], inputs: Array, activation: str = "tanh") -> Array:
    """Outputs (..., o) of affine layers with an activation between them, for inputs (..., i)."""
    x, start = inputs, 0
    for depth, (rows, columns) in enumerate(shapes):
        stop = start + rows * columns
        x = ACTIVATIONS[activation](x) if depth > 0 else x
        x = x @ flat[start:stop].reshape(rows, columns) + flat[stop : stop + columns]
        start = stop + columns
    return x


@dataclass(frozen=True)
class Network:
    """The policy of a `Layout`: from parameters and inputs to distributions of actions."""

    layout: Layout

    def distribution(self, theta: Array, inputs: Array, noise: Array | None = None) -> Distribution:
        """In states with inputs (n, i); `noise` as in `Batch`, absent: the layers at rest."""
        size = self.layout.network
        log_std = None if self.layout.discrete else theta[-self.layout.outputs :]

        def outputs_of(flat: Array, rows: Array) -> Array:
            return mlp(flat, self.layout.shapes, rows, self.layout.activation)

        if noise is None:
            return Distribution(outputs_of(theta[:size], inputs), log_std)
        weights = theta[:size] + theta[size : 2 * size] * noise
        outputs = jax.vmap(outputs_of)(weights, inputs.reshape(len(noise), -1, inputs.shape[-1]))
        return Distribution(outputs.reshape(len(inputs), -1), log_std)

    def of(self, theta: Array, batch: Batch) -> Distribution:
        return self.distribution(theta, batch.inputs, batch.noise)


def surrogate(new: Distribution, old: Distribution, batch: Batch) -> Array:
    """E[A π_θ(a|s) / π_old(a|s)] over the batch, in whose states the distributions are."""
    return jnp.mean(batch.advantages * jnp.exp(log_ratio(new, old, batch.actions)))


def log_ratio(new: Distribution, old: Distribution, actions: Array) -> Array:
    ratio = new.log_prob(actions) - jax.lax.stop_gradient(old.log_prob(actions))
    return jnp.clip(ratio, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)


def minibatches(rng: np.random.Generator, count: int, size: int, steps: int) -> NDArray[np.int32]:
    """Indices (steps, size) of `count` rows, in passes over all of them in random order."""
    size = min(size, count)
    each = count // size
    passes = [rng.permutation(count)[: each * size] for _ in range(-(-steps // each))]
    return np.concatenate(passes).reshape(-1, size)[:steps].astype(np.int32)


def leaves(tree: Any) -> Arrays:
    """The arrays of an optimiser's state, numbered."""
    return {str(i): np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def with_leaves(tree: Any, arrays: Arrays) -> Any:
    """A tree like `tree` with the arrays of `leaves`."""
    found = [jnp.asarray(arrays[str(i)]) for i in range(len(arrays))]
    return jax.tree.unflatten(jax.tree.structure(tree), found)
