"""Policy gradients as ask and tell: samples in, a better policy out. No Ray, no disk."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from bges.errors import BgesError, InputError, RunError
from bges.evolution.elites import Best, Candidate
from bges.evolution.members import moments_of, part
from bges.evolution.units import Context, Outcome, Result, Unit
from bges.gradient.ascent import Ascent
from bges.gradient.config import GradientConfig
from bges.gradient.networks import Batch, Floats, Network, fix_bits
from bges.gradient.particles import Particles
from bges.gradient.policy import StochasticMLP, layer_noise
from bges.gradient.samples import Rollouts, Sample
from bges.gradient.trpo import Trpo
from bges.gradient.updates import Arrays, Episodes, Update, check_terms
from bges.gradient.values import ValueFunction
from bges.learner import Report
from bges.moments import Moments
from bges.policies import Policy
from bges.randomness import Stream, generator
from bges.runs.config import RunConfig

UPDATES: dict[str, Callable[[GradientConfig, Network, int], Update]] = {
    "pg": lambda settings, network, seed: Ascent(settings, network, penalized=False, seed=seed),
    "bgpg": lambda settings, network, seed: Ascent(settings, network, penalized=True, seed=seed),
    "trpo": lambda settings, network, seed: Trpo(settings, network),
    "noisynet_trpo": lambda settings, network, seed: Trpo(settings, network),
    "particles": lambda settings, network, seed: Particles(settings, network),
}


class PolicyGradient:
    """The `Learner` of all policy gradients: they differ in the update alone, one of `UPDATES`."""

    def __init__(self, config: RunConfig, policy: Policy, theta: Any) -> None:
        fix_bits()
        assert isinstance(policy, StochasticMLP)
        self.config, self.settings, self.policy = config, config.pg, policy
        self._theta: Floats = np.array(theta, np.float32)
        self.moments: Moments | None = None
        self.iteration = 0
        self.env_steps = 0
        self.best: Best | None = None
        self._behaviors: Moments | None = None
        self._value = ValueFunction(config.pg, policy.input_size, generator(config.seed, Stream.VALUE, 0))
        self._update = UPDATES[config.algorithm](config.pg, Network(policy.layout), config.seed)

    @property
    def theta(self) -> Floats:
        return self._theta

    @property
    def dimension(self) -> int:
        return len(self._theta)

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations

    @property
    def context(self) -> Context:
        """What the units of this iteration share: the policy, and what normalises its observations."""
        moments = self.moments if self.config.policy.normalize_observations else None
        return Context(iteration=self.iteration, thetas=self._theta[None], moments=(moments,))

    def ask(self) -> list[Unit]:
        """The units of this iteration, the mean policy's evaluation first; asking again gives the same."""
        units, chunk, evaluation = [], self.settings.chunk, self.config.evaluation
        if self.iteration % evaluation.every == 0 or self.iteration == self.config.iterations - 1:
            units.append(Unit(iteration=self.iteration, index=0, kind="evaluate", start=0, stop=evaluation.episodes))
        for start in range(0, self.settings.slots, chunk):
            stop = min(start + chunk, self.settings.slots)
            units.append(Unit(iteration=self.iteration, index=len(units), kind="sample", start=start, stop=stop))
        return units

    def use(self, play: Callable[[Sequence[Unit], Context], Sequence[Any]]) -> None:
        """It learns alone."""

    def tell(self, results: Sequence[Outcome]) -> Report:
        """Take all results of the units asked for, in any order, and move on to the next iteration.

        Where a term of the update is not finite, `RunError` says which, and everything is as it was before.
        """
        results = sorted(results, key=lambda result: result.unit.index)
        if [result.unit for result in results] != self.ask():
            raise InputError(f"tell needs exactly the results of iteration {self.iteration}'s units")
        before = self.state()
        try:
            return self._learn(results)
        except BgesError as error:
            self.restore(*before)
            raise RunError(f"iteration {self.iteration}: {error}") from None

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
        loss = self._value.fit(rollouts, returns, self._rng(Stream.VALUE, 1))
        check_terms({"value loss": loss})
        seconds = {"scoring": time.perf_counter() - started}
        if self.settings.embedding == "trajectories":
            episodes = Episodes(self._standard(rollouts), rollouts.episodes().reshape(-1))
        theta, numbers = self._update(self._theta, self._batch(rollouts, found), episodes, self._rng())
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
            "value_loss": loss,
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
        self._theta = theta
        for seen in (moments for sample in samples for moments in sample.seen):
            self.moments = seen if self.moments is None else self.moments.merge(seen)
        self.iteration += 1
        return report

    def _hear(self, evaluations: Sequence[Result]) -> dict[str, float]:
        """The score of the mean policy; the best is remembered."""
        metrics = {"score": float("nan"), "success_rate": float("nan")}
        for result in evaluations:
            score = float(result.rewards.mean())
            shares = {name: float(flags.mean()) for name, flags in result.flags.items()}
            metrics = {"score": score, "score_std": float(result.rewards.std()), **shares}
            metrics["success_rate"] = metrics.pop("success", float("nan"))
            if self.best is None or score > self.best.score:
                theta = self._theta.astype(np.float64)
                self.best = Best(score=score, iteration=self.iteration, theta=theta, moments=self.moments)
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

    def _rng(self, stream: Stream = Stream.UPDATE, *keys: int) -> np.random.Generator:
        return generator(self.config.seed, stream, *keys, self.iteration)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything that the next iterations depend on, as plain values and arrays."""
        present = Candidate(theta=self._theta.astype(np.float64), moments=self.moments)
        parts = {"member0": present.arrays(), "value": self._value.state(), "update": self._update.state()}
        if self._behaviors is not None:
            parts["behaviors"] = self._behaviors.to_arrays()
        values: dict[str, Any] = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "current": 0,
            "best": None,
        }
        if self.best is not None:
            values["best"] = {"score": self.best.score, "iteration": self.best.iteration}
            parts["best"] = self.best.arrays()
        return values, {f"{name}/{key}": array for name, own in parts.items() for key, array in own.items()}

    def restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        """Go on from a `state`, byte for byte."""
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        self._theta = np.array(arrays["member0/theta"], np.float32)
        self.moments = moments_of(part(arrays, "member0/moments"))
        self._behaviors = moments_of(part(arrays, "behaviors"))
        self._value.restore(part(arrays, "value"))
        self._update.restore(part(arrays, "update"))
        self.best = None
        if values["best"] is not None:
            self.best = Best(**values["best"], **Candidate.parts(part(arrays, "best")))


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
