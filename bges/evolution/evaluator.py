"""Play units of work: noise slice, perturbed parameters, batched rollout, embedding. Knows nothing of Ray."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from bges.behavior import Embedding, make_embedding
from bges.environments import AnyVectorEnv, EnvSource, find_env, horizon_of, make_vector_env
from bges.errors import within
from bges.evolution.noise import Float32, check_table, noise_table
from bges.evolution.perturbations import Perturbations, evaluation_seeds
from bges.evolution.units import Context, Result, Unit
from bges.plugins import build, is_plugin
from bges.policies import Policy, policy_maker
from bges.randomness import Stream, generator
from bges.rollouts import play
from bges.runs.config import RunConfig
from bges.trajectories import Trajectories

PolicyClass = Callable[..., Policy]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A configuration with its names resolved to objects: made on the driver, sent to workers whole.

    So a user's module has to exist on the driver only.
    """

    config: RunConfig
    env: EnvSource
    policy_class: PolicyClass
    embedding: Embedding

    @classmethod
    def of(cls, config: RunConfig) -> "Problem":
        with within("embedding"):
            embedding = make_embedding(config.embedding.name, **config.embedding.kwargs)
        return cls(
            config=config,
            env=find_env(config.env.id),
            policy_class=policy_maker(config.policy.name),
            embedding=embedding,
        )

    def make_policy(self, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]) -> Policy:
        config = self.config.policy
        settings: dict[str, Any] = {"squash": config.squash, **config.kwargs}
        if config.hidden is not None:
            settings["hidden"] = config.hidden
        with within("policy"):
            make = partial(self.policy_class, observation_space, action_space)
            policy: Policy = build(config.name, make, settings)
        return policy

    def make_env(self, num_envs: int) -> AnyVectorEnv:
        env = self.config.env
        with within("env"):
            return make_vector_env(self.env, num_envs, horizon=env.horizon, kwargs=env.kwargs, name=env.id)

    def check_embedding(self, env: AnyVectorEnv, policy: Policy) -> None:
        """Try a built-in embedding on empty episodes, so that a wrong argument is refused before anything is played."""
        if is_plugin(self.config.embedding.name):
            return
        horizon = horizon_of(env)
        size = int(np.prod(policy.actions.shape, dtype=int))
        empty = Trajectories.from_arrays(
            observations=np.zeros((1, horizon + 1, policy.observation_size)),
            actions=np.zeros((1, horizon, size)),
            rewards=np.zeros((1, horizon)),
        )
        with within("embedding"):
            make_embedding(self.config.embedding.name, **self.config.embedding.kwargs)(empty)


class Evaluator:
    """Plays one unit at a time; `table` is the shared noise table, made here when none is given."""

    def __init__(self, problem: Problem, table: Float32 | None = None) -> None:
        self.problem, self.config = problem, problem.config
        self._envs: dict[int, AnyVectorEnv] = {}
        first = self._env(1)
        self.policy = self.problem.make_policy(first.single_observation_space, first.single_action_space)
        problem.check_embedding(first, self.policy)
        check_table(self.config.es.noise_table, self.policy.num_parameters)
        self.table = noise_table(self.config.seed, self.config.es.noise_table) if table is None else table
        self._drawn: tuple[int, Perturbations] | None = None

    def initial_theta(self, member: int = 0) -> Float32:
        return self.policy.initial(generator(self.config.seed, Stream.INITIAL, member))

    def evaluate(self, context: Context, unit: Unit) -> Result:
        started = time.perf_counter()
        config = self.config
        theta = context.thetas[unit.member]
        if unit.kind == "perturb":
            drawn = self.perturbations(unit.iteration)
            thetas = drawn.thetas(theta, config.es.sigma, self.table, unit.start, unit.stop)
            seeds = drawn.seeds[unit.start : unit.stop]
            policies, episodes = len(thetas), config.env.episodes
        else:
            thetas = theta[None]
            policies, episodes = 1, unit.stop - unit.start
            seeds = evaluation_seeds(config.seed, unit.iteration, unit.member, unit.stop)[None, unit.start :]
        batch = self.policy.batch(thetas, episodes=episodes, moments=context.moments[unit.member])
        played = play(
            self._env(policies * episodes),
            batch,
            seeds=seeds.reshape(-1),
            keep=self.problem.embedding.needs,
            action_noise=config.policy.action_noise,
            count_inputs=config.policy.normalize_observations and unit.kind == "perturb",
        )
        points = self.problem.embedding(played) / config.embedding.scale
        return Result(
            unit=unit,
            rewards=played.returns.reshape(policies, episodes),
            peaks=played.peaks.reshape(policies, episodes),
            embeddings=points.reshape(policies, episodes, -1).astype(np.float32),
            steps=int(played.lengths.sum()),
            flags={name: flag.reshape(policies, episodes) for name, flag in played.flags.items()},
            inputs=played.inputs,
            seconds=time.perf_counter() - started,
        )

    def perturbations(self, iteration: int) -> Perturbations:
        if self._drawn is None or self._drawn[0] != iteration:
            self._drawn = iteration, draw_perturbations(self.config, iteration, self.policy.num_parameters)
        return self._drawn[1]

    def _env(self, members: int) -> AnyVectorEnv:
        """An environment of that many members; the odd last chunk needs one of its own."""
        if members not in self._envs:
            self._envs[members] = self.problem.make_env(members)
        return self._envs[members]

    def close(self) -> None:
        for env in self._envs.values():
            env.close()
        self._envs.clear()


def draw_perturbations(config: RunConfig, iteration: int, dimension: int) -> Perturbations:
    return Perturbations.draw(
        seed=config.seed,
        iteration=iteration,
        population=config.es.population,
        antithetic=config.es.antithetic,
        episodes=config.env.episodes,
        table=config.es.noise_table,
        dimension=dimension,
    )
