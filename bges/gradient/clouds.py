"""Clouds of behaviour of the old and the new policy, differentiable in the new one's parameters."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bges.config.gradient import DistanceConfig
from bges.gradient.networks import Array, Batch, Distribution, Network, log_ratio
from bges.gradient.penalty import Cloud, Penalty

# Weight of a place that is only there to keep shapes the same.
NOTHING = -1e9
SMALLEST_CLOUD = 16


class EpisodePoints(NamedTuple):
    """Behaviours of f episodes: `points` (f, d), which are `present` (f,), and the episode of each step (n,) or -1."""

    points: Array
    present: Array
    numbers: Array

    @classmethod
    def padded(cls, points: NDArray[Any], numbers: NDArray[Any]) -> "EpisodePoints":
        """Filled up to a power of two, so that programs are compiled for few sizes only."""
        count = len(points)
        size = max(SMALLEST_CLOUD, 1 << (count - 1).bit_length())
        filled = np.concatenate([points, np.repeat(points[:1], size - count, axis=0)]).astype(np.float32)
        return cls(*(jnp.asarray(part) for part in (filled, np.arange(size) < count, numbers.astype(np.int32))))


def action_clouds(
    settings: DistanceConfig, old: Distribution, new: Distribution, inputs: Array, key: Array
) -> tuple[Cloud, Cloud]:
    """What both policies would do in the same states (n): off-policy embeddings.

    Gaussian actions are drawn by a = μ(s) + σ ε, so that gradients pass through them. Discrete ones need no draws:
    every action is a point, its probability the weight, and two different ones are at distance 1.
    """
    count, size = old.outputs.shape
    states = inputs if settings.embedding == "state_actions" else inputs[:, :0]
    if old.log_std is None or new.log_std is None:
        points = jnp.broadcast_to(jnp.eye(size) / jnp.sqrt(2.0), (count, size, size))
        x, y = (Cloud(points, states, jax.nn.log_softmax(policy.outputs)) for policy in (old, new))
        return x, y
    keys = jax.random.split(key)
    shape = (count, settings.actions, size)
    noise_x = jax.random.normal(keys[0], shape)
    noise_y = noise_x if settings.common_noise else jax.random.normal(keys[1], shape)
    x_points = old.outputs[:, None] + jnp.exp(old.log_std) * noise_x
    y_points = new.outputs[:, None] + jnp.exp(new.log_std) * noise_y
    if settings.standardize:
        x_points, y_points = ((p - old.outputs[:, None]) * jnp.exp(-old.log_std) for p in (x_points, y_points))
    if settings.points == "concatenated":
        x_points, y_points = (p.reshape(count, 1, -1) for p in (x_points, y_points))
    log_weights = jnp.full(x_points.shape[:2], -jnp.log(x_points.shape[1]))
    return Cloud(x_points, states, log_weights), Cloud(y_points, states, log_weights)


def episode_clouds(episodes: EpisodePoints, log_ratios: Array) -> tuple[Cloud, Cloud]:
    """Behaviours of whole episodes, of the policy that played them and of the new one: on-policy embeddings.

    The new policy's cloud has the same points with weights in proportion to π_θ(τ) / π_old(τ), from the log ratios
    of the steps (n,). Their gradient is that of REINFORCE, Σ_τ w_τ (f(τ) − f̄) ∇ log π_θ(τ), whatever the embedding.
    """
    steps = jnp.where(episodes.numbers >= 0, log_ratios, 0.0)
    sums = jax.ops.segment_sum(steps, jnp.maximum(episodes.numbers, 0), num_segments=len(episodes.points))
    uniform, moved = (
        jax.nn.log_softmax(jnp.where(episodes.present, logs, NOTHING)) for logs in (jnp.zeros_like(sums), sums)
    )
    points, none = episodes.points[None], jnp.zeros((1, 0))
    return Cloud(points, none, uniform[None]), Cloud(points, none, moved[None])


@dataclass(frozen=True)
class Comparison:
    """What of two policies' behaviour is compared, and how."""

    settings: DistanceConfig
    network: Network

    def clouds(
        self, theta: Array, old: Distribution, batch: Batch, rows: Array, episodes: EpisodePoints | None, key: Array
    ) -> tuple[Cloud, Cloud]:
        """Behaviour of the old policy and of θ: in some of the batch's states, or of all its episodes."""
        if episodes is not None:
            return episode_clouds(episodes, log_ratio(self.network.of(theta, batch), old, batch.actions))
        some = batch.rows(rows)
        return action_clouds(self.settings, old.rows(rows), self.network.of(theta, some), some.inputs, key)

    def penalty(self, cloud: Cloud) -> Penalty:
        """Squared distances are divided by the dimension of a point; different discrete actions are at distance 1."""
        discrete = self.network.layout.discrete and not self.settings.compares_episodes
        return Penalty(self.settings, 1.0 if discrete else float(cloud.points.shape[-1]))

    def per_dimension(self, distance: float) -> float:
        """A distance that is summed over the dimensions of actions, in the units of the penalty."""
        whole = self.network.layout.discrete or self.settings.compares_episodes
        return distance if whole else distance / self.network.layout.outputs
