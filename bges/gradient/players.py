"""Play units of a policy gradient: sampled steps, and episodes of the mean policy. Needs no JAX."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.checks import check_finite
from bges.core.player import Player
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Policies, Sample, Unit
from bges.environments import AnyVectorEnv, check_autoreset, check_step, horizon_of
from bges.errors import InputError
from bges.gradient.episodes import finished_episodes
from bges.gradient.samples import Sampled, ends
from bges.moments import Moments
from bges.randomness import Stream, generator
from bges.stochastic import StochasticMLP, layer_noise, normalized


class Sampler(Player):
    """Samples the steps of a batch, whatever episodes they belong to."""

    policy: StochasticMLP

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._horizon = horizon_of(self._env(1))
        self._steps = self._steps_of_each()

    def _steps_of_each(self) -> int:
        """Steps of each environment in an iteration."""
        settings = self.config.pg
        if settings.compares_episodes and settings.steps < self._horizon:
            raise InputError(
                f"pg.batch / pg.num_envs is {settings.steps}, expected at least the longest episode, {self._horizon}, "
                "where pg.embedding is 'trajectories'"
            )
        return settings.steps

    def _play(self, context: Context, unit: Unit) -> Outcome:
        if not isinstance(unit, Sample):
            return super()._play(context, unit)
        assert isinstance(context, Policies)
        played = _Sampling(self._env(unit.stop - unit.start), self.policy, context, unit, self.config.seed, self._steps)
        played.play()
        episodes = finished_episodes(
            horizon=self._horizon,
            before=played.before,
            after=played.after,
            actions=played.played,
            rewards=played.rewards,
            finished=played.finished,
        )
        finals = self.policy.inputs(played.after[ends(played.finished)])
        return Sampled(
            unit=unit,
            steps=played.rewards.size,
            inputs=played.inputs,
            actions=played.sampled,
            rewards=played.rewards,
            terminated=played.terminated,
            finished=played.finished,
            finals=normalized(finals, context.moments[unit.policy]),
            embeddings=np.zeros((0, 1), np.float32)
            if episodes is None
            else self.problem.embed(episodes).astype(np.float32),
            returns=np.zeros(0) if episodes is None else episodes.returns,
            seen=tuple(Moments.of(self.policy.inputs(rows)) for rows in played.before),
        )


class EpisodeSampler(Sampler):
    """Samples as many steps as the longest episode has: the first one of each environment is whole."""

    def _steps_of_each(self) -> int:
        return self._horizon


class _Sampling:
    """Environments side by side, one episode after the other in each, every one with a seed of its own.

    Observations `before` and `after` each step (k, T, o), actions as `sampled` and as `played`.
    """

    def __init__(
        self, env: AnyVectorEnv, policy: StochasticMLP, context: Policies, unit: Sample, seed: int, steps: int
    ) -> None:
        check_autoreset(env)
        self._env, self._policy = env, policy
        self._moments, self._theta = context.moments[unit.policy], context.thetas[unit.policy]
        keys = [(context.iteration, number) for number in range(unit.start, unit.stop)]
        self._rngs = [generator(seed, Stream.SAMPLE_EPISODES, *key) for key in keys]
        self._everyone = np.ones(len(keys), np.bool_)
        self._seeds, self._steps = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        rngs = [generator(seed, Stream.SAMPLE_ACTIONS, *key) for key in keys]
        self._noise = np.stack([policy.action_noise(rng, steps) for rng in rngs])
        if policy.layout.noisy:
            drawn = [layer_noise(policy.layout, generator(seed, Stream.LAYER_NOISE, *key)) for key in keys]
            self._batch = policy.batch(policy.noisy_thetas(self._theta, np.stack(drawn)))
        else:
            self._batch = policy.batch(self._theta[None], episodes=len(keys))
        shape = (len(keys), steps)
        size = int(np.prod(policy.actions.shape, dtype=int))
        self.before = np.empty((*shape, policy.observation_size))
        self.after = np.empty_like(self.before)
        self.inputs = np.empty((*shape, policy.input_size), np.float32)
        discrete = policy.layout.discrete
        self.sampled: NDArray[Any] = (
            np.empty(shape, np.int64) if discrete else np.empty((*shape, policy.layout.outputs), np.float32)
        )
        self.played = np.empty((*shape, size))
        self.rewards = np.empty(shape)
        self.terminated, self.finished = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)

    def play(self) -> None:
        count, steps = self.rewards.shape
        observations = self._begin(self._everyone)
        for t in range(steps):
            flat = observations.reshape(count, -1)
            self.before[:, t] = flat
            self.inputs[:, t] = inputs = normalized(self._policy.inputs(flat), self._moments)
            sampled = self._policy.sample(self._theta, self._batch.outputs(inputs), self._noise[:, t])
            actions = self._policy.playable(sampled)
            check_finite("action", actions)
            observations, rewards, terminated, truncated, _ = self._env.step(actions)
            self._steps += 1
            check_step(self._steps, self._seeds, self._everyone, observations, rewards)
            self.sampled[:, t], self.played[:, t] = sampled, actions.reshape(count, -1)
            self.rewards[:, t], self.after[:, t] = rewards, observations.reshape(count, -1)
            self.terminated[:, t], self.finished[:, t] = terminated, terminated | truncated
            if self.finished[:, t].any() and t < steps - 1:
                observations = self._begin(self.finished[:, t])

    def _begin(self, chosen: NDArray[np.bool_]) -> NDArray[Any]:
        """New episodes of these environments, each with the next of its own seeds."""
        for number in np.flatnonzero(chosen):
            # Environments of others may feed a seed to a 32-bit generator.
            self._seeds[number] = int(self._rngs[number].integers(2**64, dtype=np.uint64)) >> 33
        self._steps[chosen] = 0
        seeds: Any = [int(seed) if begins else None for seed, begins in zip(self._seeds, chosen, strict=True)]
        options = None if chosen.all() else {"reset_mask": chosen.copy()}
        observations, _ = self._env.reset(seed=seeds, options=options)
        check_step(self._steps, self._seeds, chosen, observations)
        return observations
