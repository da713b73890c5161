"""Policy gradients as ask and tell: samples in, a better policy out. No Ray, no disk."""

import time
from typing import Any

import jax.numpy as jnp
import numpy as np

from bges.config.run import RunConfig
from bges.core.evaluation import returns_summary
from bges.core.learner import Report
from bges.core.state import Arrays, part, prefixed
from bges.errors import RunError
from bges.gradient.base import Numbers, SamplingLearner
from bges.gradient.bgpg import Bgpg
from bges.gradient.clouds import EpisodePoints
from bges.gradient.episodes import episode_numbers
from bges.gradient.networks import Batch, Floats, Network
from bges.gradient.particles import Particles
from bges.gradient.plain import Plain
from bges.gradient.samples import Rollouts, Sampled
from bges.gradient.trpo import Trpo
from bges.gradient.updates import Update, check_terms
from bges.gradient.values import ValueFunction
from bges.moments import Moments
from bges.policies import Policy
from bges.randomness import Stream, generator
from bges.stochastic import layer_noise

UPDATES: dict[str, type[Update[Any]]] = {
    "pg": Plain,
    "bgpg": Bgpg,
    "trpo": Trpo,
    "noisynet_trpo": Trpo,
    "particles": Particles,
}


class PolicyGradient(SamplingLearner):
    """The `Learner` of all policy gradients: they differ in the update alone, one of `UPDATES`."""

    def __init__(self, config: RunConfig, policy: Policy, theta: Any) -> None:
        super().__init__(config, policy, [theta])
        self.settings = config.pg
        self._behaviors: Moments | None = None
        self._value = ValueFunction(config.pg, policy.input_size, generator(config.seed, Stream.VALUE, 0))
        self._unfitted: tuple[Rollouts, Floats] | None = None
        self._update = UPDATES[config.algorithm](config.pg, Network(self.policy.layout), config.seed)

    @property
    def _environments(self) -> tuple[int, int]:
        return self.settings.num_envs, self.settings.chunk

    def _learn(self, scores: Numbers, samples: list[list[Sampled]]) -> Report:
        rollouts, episodes = Rollouts.of(samples[0]), None
        started = time.perf_counter()
        values, found, returns = (np.asarray(array) for array in self._value.estimate(rollouts))
        check_terms({"value function": values.sum(), "advantages": found.sum()})
        seconds = {"scoring": time.perf_counter() - started}
        if self.settings.compares_episodes:
            numbers = episode_numbers(rollouts.finished)
            episodes = EpisodePoints.padded(self._standard(rollouts.embeddings), numbers.reshape(-1))
        rng = generator(self.config.seed, Stream.UPDATE, self.iteration)
        before = self.policies[0].theta.astype(np.float32)
        theta, metrics = self._update(before, self._batch(rollouts, found), episodes, rng)
        # Parameters may be finite and still too large to give actions.
        check_terms({"policy": np.abs(theta).max(), **metrics})
        spread = float(returns.var())
        metrics = {
            **scores,
            **returns_summary(rollouts.returns),
            "episodes": len(rollouts.returns),
            "length_mean": rollouts.rewards.size / max(int(rollouts.ended.sum()), 1),
            "novelty_mean": float("nan"),
            "wd": float("nan"),
            "beta": 0.0,
            "theta_norm": float(np.linalg.norm(theta)),
            "explained_variance": 1.0 - float((returns - values).var()) / spread if spread else float("nan"),
            **metrics,
        }
        nothing = np.full(len(rollouts.returns), np.nan)
        report = self._report(metrics, rollouts.returns, nothing, rollouts.embeddings, seconds)
        self._move(0, theta, samples[0])
        self._unfitted = rollouts, returns
        return report

    def conclude(self) -> dict[str, float]:
        """Fit the value function: the next steps are sampled without it."""
        if self._unfitted is None:
            return {}
        (rollouts, returns), self._unfitted = self._unfitted, None
        played, before = self.iteration - 1, self._value.state()
        loss = self._value.fit(rollouts, returns, generator(self.config.seed, Stream.VALUE, 1, played))
        try:
            check_terms({"value loss": loss})
        except RunError as error:
            self._value.restore(before)
            raise RunError(f"iteration {played}: {error}") from None
        return {"value_loss": loss}

    def _batch(self, rollouts: Rollouts, found: Floats) -> Batch:
        """The sampled steps in a row, with advantages of mean 0 and spread 1."""
        count = found.size
        advantages = found.reshape(-1).astype(np.float64)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        noise = None
        if self.policy.layout.noisy:
            numbers = range(self.settings.num_envs)
            rngs = [generator(self.config.seed, Stream.LAYER_NOISE, self.iteration, number) for number in numbers]
            noise = np.stack([layer_noise(self.policy.layout, rng) for rng in rngs])
        actions = rollouts.actions.reshape(count, *rollouts.actions.shape[2:])
        kind = jnp.int32 if self.policy.layout.discrete else jnp.float32
        return Batch(
            inputs=jnp.asarray(rollouts.inputs.reshape(count, -1)),
            actions=jnp.asarray(actions, kind),
            advantages=jnp.asarray(advantages, jnp.float32),
            noise=None if noise is None else jnp.asarray(noise),
        )

    def _standard(self, embeddings: Any) -> Any:
        """In units of their running mean and spread."""
        seen = Moments.of(embeddings)
        self._behaviors = seen if self._behaviors is None else self._behaviors.merge(seen)
        return self._behaviors.standardize(embeddings) if self.config.embedding.standardize else embeddings

    def _own_arrays(self) -> Arrays:
        behaviors = {} if self._behaviors is None else self._behaviors.to_arrays()
        parts = {"value": self._value.state(), "update": self._update.state(), "behaviors": behaviors}
        return {key: array for name, own in parts.items() for key, array in prefixed(name, own).items()}

    def _restore_own(self, arrays: Arrays) -> None:
        self._behaviors = Moments.restored(part(arrays, "behaviors"))
        self._value.restore(part(arrays, "value"))
        self._unfitted = None
        self._update.restore(part(arrays, "update"))
