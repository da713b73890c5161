"""REINFORCE with a leave-one-out baseline (Williams, 1992; Kool et al., 2019), on whole episodes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bges.gradient.episodes import episode_numbers
from bges.gradient.networks import Array, Network
from bges.gradient.samples import Rollouts

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class WholeEpisodes:
    """The first episode of each of n environments: `taken` (n, T) says which steps are its.

    `rewards` (n, T) are 0 after its end.
    """

    rollouts: Rollouts
    taken: NDArray[np.bool_]
    rewards: Floats
    embeddings: Floats

    @classmethod
    def of(cls, rollouts: Rollouts) -> "WholeEpisodes":
        """Of as many steps as the longest episode has, or more."""
        numbers = episode_numbers(rollouts.finished)
        first = numbers[:, 0]
        taken = numbers == first[:, None]
        rewards = np.where(taken, rollouts.rewards, 0.0)
        points = rollouts.embeddings[first].astype(np.float64)
        return cls(rollouts=rollouts, taken=taken, rewards=rewards, embeddings=points)

    @property
    def returns(self) -> Floats:
        total: Floats = self.rewards.sum(axis=1)
        return total

    def advantages(self, extra: Floats) -> Floats:
        """What follows each step, with `extra` (n,) at the end of the episode, above its mean over other episodes.

        An episode's own actions are not in its baseline, which would make the gradient (n − 1) / n of what it is. Of
        the last one that goes on there is none.
        """
        following = np.cumsum(self.rewards[:, ::-1], axis=1)[:, ::-1] + extra[:, None]
        taken = np.where(self.taken, following, 0.0)
        others = np.maximum(self.taken.sum(axis=0) - 1, 1)
        return np.where(self.taken, following - (taken.sum(axis=0) - taken) / others, 0.0)


def reinforce(network: Network, theta: Any, episodes: WholeEpisodes, extra: Floats) -> Floats:
    """(1/n) Σ_i Σ_t A_it ∇ log π(a_it | s_it)."""
    rollouts, weights = episodes.rollouts, episodes.advantages(extra) / len(extra)
    gradient = _gradient(
        network,
        jnp.asarray(theta, jnp.float32),
        jnp.asarray(rollouts.inputs),
        jnp.asarray(rollouts.actions, jnp.int32 if network.layout.discrete else jnp.float32),
        jnp.asarray(weights, jnp.float32),
    )
    return np.asarray(gradient, np.float64)


@partial(jax.jit, static_argnums=0)
def _gradient(network: Network, theta: Array, inputs: Array, actions: Array, weights: Array) -> Array:
    def objective(theta: Array) -> Array:
        return jnp.sum(weights * network.distribution(theta, inputs).log_prob(actions))

    return jax.grad(objective)(theta)
