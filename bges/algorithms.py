"""Every algorithm by name: who plays for it, and what learns from that.

Parts are imported when they are asked for: workers never learn, and only policy gradients learn by JAX.
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from bges.config.gradient import METHODS
from bges.config.run import EVOLUTION
from bges.plugins import from_extra

if TYPE_CHECKING:
    from bges.core.learner import Learner
    from bges.core.player import Player
    from bges.core.problem import Problem

Shared = NDArray[np.float32]


class Family(Protocol):
    """Algorithms that are played alike."""

    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        """Someone who plays units; `shared` is what another player of the same run has made already."""

    def learner(self, player: "Player") -> "Learner":
        """What learns from such players; one of them says what it begins with."""


class Evolution:
    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        from bges.evolution.evaluator import Evaluator

        return Evaluator(problem, shared)

    def learner(self, player: "Player") -> "Learner":
        from bges.evolution.parts import num_members
        from bges.evolution.strategy import Strategy
        from bges.runs.behaviors import read_expert

        thetas = [player.initial_theta(member) for member in range(num_members(player.config))]
        expert = read_expert(player.config, player.behavior_size)
        return Strategy(player.config, thetas, player.shared, expert)


class Gradient:
    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        from bges.gradient.players import Sampler

        return Sampler(problem)

    def learner(self, player: "Player") -> "Learner":
        with from_extra("bgpg", f"algorithm {player.config.algorithm}", "jax", "jaxlib", "optax"):
            from bges.gradient.learner import PolicyGradient

        return PolicyGradient(player.config, player.policy, player.initial_theta())


class SideBySide:
    """Several stochastic policies at once, sampled as whole episodes."""

    def player(self, problem: "Problem", shared: Shared | None) -> "Player":
        from bges.gradient.players import EpisodeSampler

        return EpisodeSampler(problem)

    def learner(self, player: "Player") -> "Learner":
        config = player.config
        with from_extra("bgpg", f"algorithm {config.algorithm}", "jax", "jaxlib", "optax"):
            from bges.gradient.repulsion import Repulsion

        return Repulsion(config, player.policy, [player.initial_theta(i) for i in range(config.repulsion.policies)])


FAMILIES: dict[str, Family] = {
    **dict.fromkeys(EVOLUTION, Evolution()),
    **dict.fromkeys(METHODS, Gradient()),
    "repulsion": SideBySide(),
}


def make_player(problem: "Problem", shared: Shared | None = None) -> "Player":
    return FAMILIES[problem.config.algorithm].player(problem, shared)


def make_learner(player: "Player") -> "Learner":
    return FAMILIES[player.config.algorithm].learner(player)
