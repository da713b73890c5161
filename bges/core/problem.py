"""A run's configuration with its names resolved."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bges.behavior import Embedding, make_embedding
from bges.config.run import RunConfig
from bges.environments import AnyVectorEnv, EnvSource, find_env, horizon_of, make_vector_env
from bges.errors import InputError, within
from bges.plugins import build, is_plugin
from bges.policies import Policy, PolicyClass, policy_maker
from bges.stochastic import stochastic_class
from bges.trajectories import Trajectories


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
        return cls(
            config=config,
            env=find_env(config.env.id),
            embedding=_embedding(config),
            policy_class=_policy_class(config),
        )

    def embedded_for(self, other: RunConfig) -> "Problem":
        """The same, with the behaviour that another looks at."""
        config = self.config.model_copy(update={"embedding": other.embedding})
        return replace(self, config=config, embedding=_embedding(config))

    def embed(self, trajectories: Trajectories | NDArray[Any]) -> NDArray[np.float64]:
        """The behaviours of episodes (of policies, by what they do), (n, d), in the units of `embedding.scale`."""
        return self.embedding(trajectories) / self.config.embedding.scale

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

    def check_embedding(self, env: AnyVectorEnv, policy: Policy) -> int | None:
        """Try a built-in embedding on empty episodes, so that a wrong argument is refused before anything is played.

        The dimension of what it gives; None where it is a user's own.
        """
        if is_plugin(self.config.embedding.name):
            return None
        horizon = horizon_of(env)
        size = int(np.prod(policy.actions.shape, dtype=int))
        empty = Trajectories.from_arrays(
            observations=np.zeros((1, horizon + 1, policy.observation_size)),
            actions=np.zeros((1, horizon, size)),
            rewards=np.zeros((1, horizon)),
        )
        embedding = _embedding(self.config)
        with within("embedding"):
            if embedding.of_policies:
                return embedding.function.states * policy.actions.output_size
            return embedding(empty).shape[1]


def _policy_class(config: RunConfig) -> PolicyClass:
    """What makes the policies: functions of the observation, or stochastic where actions are sampled."""
    return policy_maker(config.policy.name) if config.evolves else stochastic_class(config)


def _embedding(config: RunConfig) -> Embedding:
    with within("embedding"):
        embedding = make_embedding(config.embedding.name, **config.embedding.kwargs)
        if embedding.of_policies and not config.evolves:
            raise InputError(
                f"{embedding.name} is of what a policy does, and algorithm {config.algorithm} embeds episodes; "
                "bgpg has pg.embedding for what a policy does"
            )
    return embedding
