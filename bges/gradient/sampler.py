"""Play units of a policy gradient: sampled steps, and episodes of the mean policy. Knows nothing of Ray and JAX."""

import time
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from bges.checks import check_finite
from bges.environments import AnyVectorEnv, horizon_of
from bges.errors import InputError
from bges.evolution.evaluator import Problem
from bges.evolution.perturbations import evaluation_seeds
from bges.evolution.units import Context, Result, Unit
from bges.gradient.config import GradientConfig
from bges.gradient.episodes import finished_episodes
from bges.gradient.policy import Float32, StochasticMLP, layer_noise, normalized
from bges.gradient.samples import Sample
from bges.moments import Moments
from bges.randomness import Stream, generator
from bges.rollouts import play


class Sampler:
    """Plays one unit at a time, as `Evaluator` does for evolution; `problem.policy_class` makes a `StochasticMLP`."""

    def __init__(self, problem: Problem, settings: GradientConfig) -> None:
        self.problem, self.config, self.settings = problem, problem.config, settings
        self._envs: dict[int, AnyVectorEnv] = {}
        first = self._env(1)
        policy = problem.make_policy(first.single_observation_space, first.single_action_space)
        if not isinstance(policy, StochasticMLP):
            raise InputError(f"policy.name is {self.config.policy.name!r}, expected a stochastic policy: mlp or linear")
        self.policy = policy
        problem.check_embedding(first, policy)
        self.horizon = horizon_of(first)
        if settings.embedding == "trajectories" and settings.steps < self.horizon:
            raise InputError(
                f"pg.batch / pg.slots is {settings.steps}, expected at least the longest episode, {self.horizon}, "
                "where pg.embedding is 'trajectories'"
            )

    def initial_theta(self) -> Float32:
        return self.policy.initial(generator(self.config.seed, Stream.INITIAL, 0))

    def evaluate(self, context: Context, unit: Unit) -> Result | Sample:
        return self._evaluation(context, unit) if unit.kind == "evaluate" else self._sample(context, unit)

    def _evaluation(self, context: Context, unit: Unit) -> Result:
        started, episodes = time.perf_counter(), unit.stop - unit.start
        seeds = evaluation_seeds(self.config.seed, unit.iteration, unit.member, unit.stop)[unit.start :]
        batch = self.policy.batch(context.thetas[:1], episodes=episodes, moments=context.moments[0])
        played = play(self._env(episodes), batch, seeds=seeds, keep=self.problem.embedding.needs)
        points = self.problem.embedding(played) / self.config.embedding.scale
        return Result(
            unit=unit,
            rewards=played.returns[None],
            peaks=played.peaks[None],
            embeddings=points[None].astype(np.float32),
            steps=int(played.lengths.sum()),
            flags={name: flag[None] for name, flag in played.flags.items()},
            seconds=time.perf_counter() - started,
        )

    def _sample(self, context: Context, unit: Unit) -> Sample:
        started, slots = time.perf_counter(), range(unit.start, unit.stop)
        env = self._env(len(slots))
        played = _Chains(env, self.policy, context, self.config.seed, slots, self.settings.steps)
        played.play()
        trajectories = finished_episodes(
            horizon=self.horizon,
            before=played.before,
            after=played.after,
            actions=played.played,
            rewards=played.rewards,
            finished=played.finished,
        )
        points = np.zeros((0, 1), np.float32)
        if trajectories is not None:
            points = (self.problem.embedding(trajectories) / self.config.embedding.scale).astype(np.float32)
        ended = played.finished.copy()
        ended[:, -1] = True
        return Sample(
            unit=unit,
            inputs=played.inputs,
            actions=played.sampled,
            rewards=played.rewards,
            terminated=played.terminated,
            finished=played.finished,
            finals=normalized(self.policy.inputs(played.after[ended]), context.moments[0]),
            embeddings=points,
            returns=np.zeros(0) if trajectories is None else trajectories.returns,
            seen=tuple(Moments.of(self.policy.inputs(rows)) for rows in played.before),
            seconds=time.perf_counter() - started,
        )

    def _env(self, members: int) -> AnyVectorEnv:
        if members not in self._envs:
            self._envs[members] = self.problem.make_env(members)
        return self._envs[members]

    def close(self) -> None:
        for env in self._envs.values():
            env.close()
        self._envs.clear()


class _Chains:
    """Slots side by side, one episode after the other in each, every one with a seed of its own.

    Observations `before` and `after` each step (k, T, o), actions as `sampled` and as `played`.
    """

    def __init__(
        self, env: AnyVectorEnv, policy: StochasticMLP, context: Context, seed: int, slots: range, steps: int
    ) -> None:
        if env.metadata.get("autoreset_mode") != AutoresetMode.DISABLED:
            raise InputError("sampling begins new episodes itself: it needs an environment with autoreset disabled")
        self._env, self._policy, self._moments, self._theta = env, policy, context.moments[0], context.thetas[0]
        keys = [(context.iteration, slot) for slot in slots]
        self._seeds = [generator(seed, Stream.SAMPLE_EPISODES, *key) for key in keys]
        rngs = [generator(seed, Stream.SAMPLE_ACTIONS, *key) for key in keys]
        self._noise = np.stack([policy.action_noise(rng, steps) for rng in rngs])
        if policy.layout.noisy:
            drawn = [layer_noise(policy.layout, generator(seed, Stream.LAYER_NOISE, *key)) for key in keys]
            self._batch = policy.batch(policy.noisy_thetas(self._theta, np.stack(drawn)))
        else:
            self._batch = policy.batch(self._theta[None], episodes=len(slots))
        shape = (len(slots), steps)
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
        observations = self._begin(np.ones(count, np.bool_))
        for t in range(steps):
            flat = observations.reshape(count, -1)
            self.before[:, t] = flat
            self.inputs[:, t] = inputs = normalized(self._policy.inputs(flat), self._moments)
            sampled = self._policy.sample(self._theta, self._batch.outputs(inputs), self._noise[:, t])
            actions = self._policy.playable(sampled)
            check_finite("action", actions)
            observations, rewards, terminated, truncated, _ = self._env.step(actions)
            self.sampled[:, t], self.played[:, t] = sampled, actions.reshape(count, -1)
            self.rewards[:, t], self.after[:, t] = rewards, observations.reshape(count, -1)
            self.terminated[:, t], self.finished[:, t] = terminated, terminated | truncated
            if self.finished[:, t].any() and t < steps - 1:
                observations = self._begin(self.finished[:, t])

    def _begin(self, members: NDArray[np.bool_]) -> NDArray[Any]:
        """New episodes of these members, each with the next seed of its slot."""
        # Environments of others may feed a seed to a 32-bit generator.
        seeds: Any = [
            int(rng.integers(2**64, dtype=np.uint64)) >> 33 if chosen else None
            for rng, chosen in zip(self._seeds, members, strict=True)
        ]
        options = None if members.all() else {"reset_mask": members.copy()}
        observations, _ = self._env.reset(seed=seeds, options=options)
        return observations
