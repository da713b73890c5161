"""Every algorithm by name: what its policies are, who plays for it, what learns from that.

Parts are imported when they are asked for: workers never learn, and only policy gradients learn by JAX.
"""

from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from bges.config.gradient import METHODS
from bges.plugins import from_extra

if TYPE_CHECKING:
    from bges.config.run import RunConfig
    from bges.core.learner import Learner
    from bges.core.player import Player
    from bges.core.problem import Problem
    from bges.policies import PolicyClass

Shared = NDArray[np.float32]


class Family(Protocol):
    """Algorithms that are played alike."""

    def policy_class(self, config: "RunConfig") -> "PolicyClass":
        """What makes the policies that a configuration names."""

    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        """Someone who plays units; `shared` is what another player of the same run has made already."""

    def learner(self, player: "Player") -> "Learner":
        """What learns from such players; one of them says what it begins with."""


class Evolution:
    def policy_class(self, config: "RunConfig") -> "PolicyClass":
        from bges.policies import policy_maker

        return policy_maker(config.policy.name)

    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        from bges.evolution.evaluator import Evaluator

        return Evaluator(problem, shared)

    def learner(self, player: "Player") -> "Learner":
        from bges.evolution.strategy import Strategy, num_members
        from bges.runs.behaviors import read_expert

        thetas = [player.initial_theta(member) for member in range(num_members(player.config))]
        expert = read_expert(player.config, player.behavior_size)
        return Strategy(player.config, thetas, player.shared, expert)


class Gradient:
    def policy_class(self, config: "RunConfig") -> "PolicyClass":
        from bges.stochastic import stochastic_class

        return stochastic_class(config)

    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        from bges.gradient.players import Sampler

        return Sampler(problem)

    def learner(self, player: "Player") -> "Learner":
        with from_extra("bgpg", f"algorithm {player.config.algorithm}", "jax", "jaxlib", "optax"):
            from bges.gradient.learner import PolicyGradient

        return PolicyGradient(player.config, player.policy, player.initial_theta())


class SideBySide:
    """Several stochastic policies at once, sampled as whole episodes."""

    def policy_class(self, config: "RunConfig") -> "PolicyClass":
        from bges.stochastic import stochastic_class

        return partial(stochastic_class(config), initial_std=config.repulsion.noise, orthogonal=False)

    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        from bges.gradient.players import EpisodeSampler

        return EpisodeSampler(problem)

    def learner(self, player: "Player") -> "Learner":
        config = player.config
        with from_extra("bgpg", f"algorithm {config.algorithm}", "jax", "jaxlib", "optax"):
            from bges.gradient.repulsion import Repulsion

        return Repulsion(config, player.policy, [player.initial_theta(i) for i in range(config.repulsion.policies)])


FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("bges", "es", "nsres"), Evolution()),
    **dict.fromkeys(METHODS, Gradient()),
    "repulsion": SideBySide(),
}


def family(config: "RunConfig") -> Family:
    return FAMILIES[config.algorithm]


def make_player(problem: "Problem", shared: Shared | None = None) -> "Player":
    return family(problem.config).player(problem, shared)


def make_learner(player: "Player") -> "Learner":
    return family(player.config).learner(player)
