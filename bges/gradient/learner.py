"""Policy gradients as ask and tell: samples in, a better policy out. No Ray, no disk."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from bges.config.gradient import GradientConfig
from bges.config.run import RunConfig
from bges.core.learner import Report
from bges.core.work import Context, Outcome, Result
from bges.errors import RunError
from bges.evolution.elites import Best, Candidate
from bges.evolution.members import moments_of, part
from bges.gradient.ascent import Ascent
from bges.gradient.networks import Batch, Floats, Network, fix_bits
from bges.gradient.particles import Particles
from bges.gradient.samples import Rollouts, Sample
from bges.gradient.sampling import SamplingLearner, evaluated
from bges.gradient.trpo import Trpo
from bges.gradient.updates import Arrays, Episodes, Update, check_terms
from bges.gradient.values import ValueFunction
from bges.moments import Moments
from bges.policies import Policy
from bges.randomness import Stream, generator
from bges.stochastic import StochasticMLP, layer_noise

UPDATES: dict[str, Callable[[GradientConfig, Network, int], Update]] = {
    "pg": lambda settings, network, seed: Ascent(settings, network, penalized=False, seed=seed),
    "bgpg": lambda settings, network, seed: Ascent(settings, network, penalized=True, seed=seed),
    "trpo": lambda settings, network, seed: Trpo(settings, network),
    "noisynet_trpo": lambda settings, network, seed: Trpo(settings, network),
    "particles": lambda settings, network, seed: Particles(settings, network),
}


class PolicyGradient(SamplingLearner):
    """The `Learner` of all policy gradients: they differ in the update alone, one of `UPDATES`."""

    def __init__(self, config: RunConfig, policy: Policy, theta: Any) -> None:
        fix_bits()
        assert isinstance(policy, StochasticMLP)
        super().__init__(config)
        self.settings, self.policy = config.pg, policy
        self._theta: Floats = np.array(theta, np.float32)
        self.moments: Moments | None = None
        self._best: Best | None = None
        self._behaviors: Moments | None = None
        self._value = ValueFunction(config.pg, policy.input_size, generator(config.seed, Stream.VALUE, 0))
        self._unfitted: tuple[Rollouts, Floats] | None = None
        self._update = UPDATES[config.algorithm](config.pg, Network(policy.layout), config.seed)

    @property
    def theta(self) -> Floats:
        return self._theta

    @property
    def dimension(self) -> int:
        return len(self._theta)

    @property
    def best(self) -> Best | None:
        return self._best

    @property
    def context(self) -> Context:
        """What the units of this iteration share: the policy, and what normalises its observations."""
        moments = self.moments if self.config.policy.normalize_observations else None
        return Context(iteration=self.iteration, thetas=self._theta[None], moments=(moments,))

    @property
    def _members(self) -> int:
        return 1

    @property
    def _slots(self) -> tuple[int, int]:
        return self.settings.slots, self.settings.chunk

    def _learn(self, results: Sequence[Outcome]) -> Report:
        samples = [result for result in results if isinstance(result, Sample)]
        metrics = self._hear([result for result in results if isinstance(result, Result)])
        improved = self.best is not None and self.best.iteration == self.iteration
        self.env_steps += sum(result.steps for result in results)
        rollouts, episodes = Rollouts.of(samples), None
        started = time.perf_counter()
        estimates = self._value.estimate(rollouts)
        values, found, returns = (np.asarray(array) for array in estimates)
        check_terms({"value function": values.sum(), "advantages": found.sum()})
        seconds = {"scoring": time.perf_counter() - started}
        if self.settings.embedding == "trajectories":
            episodes = Episodes(self._standard(rollouts), rollouts.episodes().reshape(-1))
        rng = generator(self.config.seed, Stream.UPDATE, self.iteration)
        theta, numbers = self._update(self._theta, self._batch(rollouts, found), episodes, rng)
        # Parameters may be finite and still too large to give actions.
        check_terms({"policy": np.abs(theta).max(), **numbers})
        spread = float(returns.var())
        metrics = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            **metrics,
            **_summary(rollouts),
            "novelty_mean": float("nan"),
            "wd": float("nan"),
            "beta": 0.0,
            "theta_norm": float(np.linalg.norm(theta)),
            "explained_variance": 1.0 - float((returns - values).var()) / spread if spread else float("nan"),
            **numbers,
        }
        report = Report(
            iteration=self.iteration,
            metrics=metrics,
            rewards=rollouts.returns,
            novelties=np.full(len(rollouts.returns), np.nan),
            embeddings=rollouts.embeddings[:, None],
            signs=np.zeros(len(rollouts.returns), np.float32),
            improved=improved,
            seconds=seconds,
        )
        self._theta, self._unfitted = theta, (rollouts, returns)
        for seen in (moments for sample in samples for moments in sample.seen):
            self.moments = seen if self.moments is None else self.moments.merge(seen)
        self.iteration += 1
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

    def _hear(self, evaluations: Sequence[Result]) -> dict[str, float]:
        """The score of the mean policy; the best is remembered."""
        metrics = {"score": float("nan"), "success_rate": float("nan")}
        for result in evaluations:
            metrics = evaluated(result)
            score = metrics["score"]
            if self._best is None or score > self._best.score:
                theta = self._theta.astype(np.float64)
                self._best = Best(score=score, iteration=self.iteration, theta=theta, moments=self.moments)
        return metrics | {"best_score": float("nan") if self.best is None else self.best.score}

    def _batch(self, rollouts: Rollouts, found: Floats) -> Batch:
        """The sampled steps in a row, with advantages of mean 0 and spread 1."""
        count = found.size
        advantages = found.reshape(-1).astype(np.float64)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        noise = None
        if self.policy.layout.noisy:
            keys = [(self.iteration, slot) for slot in range(self.settings.slots)]
            rngs = [generator(self.config.seed, Stream.LAYER_NOISE, *key) for key in keys]
            noise = np.stack([layer_noise(self.policy.layout, rng) for rng in rngs])
        actions = rollouts.actions.reshape(count, *rollouts.actions.shape[2:])
        kind = jnp.int32 if self.policy.layout.discrete else jnp.float32
        return Batch(
            inputs=jnp.asarray(rollouts.inputs.reshape(count, -1)),
            actions=jnp.asarray(actions, kind),
            advantages=jnp.asarray(advantages, jnp.float32),
            noise=None if noise is None else jnp.asarray(noise),
        )

    def _standard(self, rollouts: Rollouts) -> Any:
        """Embeddings of the finished episodes, in units of their running mean and spread."""
        seen = Moments.of(rollouts.embeddings)
        self._behaviors = seen if self._behaviors is None else self._behaviors.merge(seen)
        standard = self.config.embedding.standardize
        return self._behaviors.standardize(rollouts.embeddings) if standard else rollouts.embeddings

    def _state(self) -> tuple[dict[str, Any], dict[str, Arrays]]:
        present = Candidate(theta=self._theta.astype(np.float64), moments=self.moments)
        parts = {"member0": present.arrays(), "value": self._value.state(), "update": self._update.state()}
        if self._behaviors is not None:
            parts["behaviors"] = self._behaviors.to_arrays()
        return {}, parts

    def restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        """Go on from a `state`, byte for byte."""
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        self._theta = np.array(arrays["member0/theta"], np.float32)
        self.moments = moments_of(part(arrays, "member0/moments"))
        self._behaviors = moments_of(part(arrays, "behaviors"))
        self._value.restore(part(arrays, "value"))
        self._unfitted = None
        self._update.restore(part(arrays, "update"))
        self._best = None
        if values["best"] is not None:
            self._best = Best(**values["best"], **Candidate.parts(part(arrays, "best")))


def _summary(rollouts: Rollouts) -> dict[str, float]:
    """Returns of the finished episodes; NaN where none finished."""
    returns, count = rollouts.returns, len(rollouts.returns)
    return {
        "reward_mean": float(returns.mean()) if count else float("nan"),
        "reward_max": float(returns.max()) if count else float("nan"),
        "reward_std": float(returns.std()) if count else float("nan"),
        "episodes": count,
        "length_mean": rollouts.rewards.size / max(int(rollouts.ended.sum()), 1),
    }
