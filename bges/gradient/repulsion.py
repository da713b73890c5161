"""Several policies that learn side by side and repel or attract each other by what they do."""

import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.evaluation import returns_summary
from bges.core.learner import Report
from bges.core.optimizers import Adam
from bges.core.state import Arrays, part, prefixed
from bges.gradient.base import Numbers, SamplingLearner
from bges.gradient.networks import Network
from bges.gradient.pairs import Pairs
from bges.gradient.reinforce import WholeEpisodes, reinforce
from bges.gradient.samples import Rollouts, Sampled
from bges.gradient.updates import check_terms
from bges.policies import Policy

GOAL = "goal_"


class Repulsion(SamplingLearner):
    """Each policy climbs R(τ) + β · what τ adds to its distance from the others, by REINFORCE with a baseline.

    β > 0 repels, β < 0 attracts. The noise of actions stays as it is.
    """

    def __init__(self, config: RunConfig, policy: Policy, thetas: Sequence[Any]) -> None:
        super().__init__(config, policy, thetas)
        self.settings = config.repulsion
        self.optimizers = [Adam(self.dimension, config.repulsion.learning_rate) for _ in thetas]
        self.pairs = Pairs(config, len(thetas))
        self._network = Network(self.policy.layout)

    @property
    def _environments(self) -> tuple[int, int]:
        return self.settings.trajectories, self.settings.chunk

    def _learn(self, scores: Numbers, samples: list[list[Sampled]]) -> Report:
        played = [WholeEpisodes.of(Rollouts.of(own)) for own in samples]
        started = time.perf_counter()
        clouds = [episodes.embeddings for episodes in played]
        clipped = self.pairs.clipped
        gains = self.pairs.gains(clouds)
        fits = self.pairs.fit(clouds)
        seconds = {"scoring": time.perf_counter() - started}
        beta = self.settings.beta * self._share
        norms = [self._step(i, episodes, beta * gains[i], samples[i]) for i, episodes in enumerate(played)]
        returns = np.concatenate([episodes.returns for episodes in played])
        metrics = {
            **scores,
            **returns_summary(returns),
            "novelty_mean": float(np.mean(gains)),
            "novelty_std": float(np.std(gains)),
            "wd": float(np.mean([fit.value for fit in fits])),
            "mean_f": float(np.mean([fit.mean_f for fit in fits])),
            "converged": float(np.mean([fit.converged for fit in fits])),
            "clipped": float(self.pairs.clipped - clipped),
            "beta": beta,
            "theta_norm": float(np.linalg.norm([policy.theta for policy in self.policies])),
            "grad_norm": float(np.linalg.norm(norms)),
        }
        embeddings = np.concatenate(clouds).astype(np.float32)
        return self._report(metrics, returns, np.concatenate(gains), embeddings, seconds)

    @property
    def _share(self) -> float:
        """What is left of β and of the learning rate: all of it before `settle_at`."""
        left, total = self.config.iterations - self.iteration, self.config.iterations
        return min(left / max((1.0 - self.settings.settle_at) * total, 1.0), 1.0)

    def _step(
        self, policy: int, episodes: WholeEpisodes, extra: NDArray[np.float64], samples: Sequence[Sampled]
    ) -> float:
        """Move a policy along the gradient; the gradient's norm."""
        theta, optimizer = self.policies[policy].theta, self.optimizers[policy]
        gradient = reinforce(self._network, theta, episodes, extra)
        if not self.policy.layout.discrete:
            gradient[-self.policy.layout.outputs :] = 0.0
        check_terms({"gradient": np.abs(gradient).max()})
        optimizer.rate = self.settings.learning_rate * self._share
        self._move(policy, theta + optimizer.step(gradient), samples)
        return float(np.linalg.norm(gradient))

    def _compare(self, found: Sequence[Numbers]) -> Numbers:
        return compare_goals(found)

    def _own_arrays(self) -> Arrays:
        arrays = prefixed("functions", self.pairs.state())
        for i, optimizer in enumerate(self.optimizers):
            arrays |= prefixed(f"optimizer/{i}", optimizer.state())
        return arrays

    def _restore_own(self, arrays: Arrays) -> None:
        self.pairs.restore(part(arrays, "functions"))
        for i, optimizer in enumerate(self.optimizers):
            optimizer.restore(part(arrays, f"optimizer/{i}"))

    @property
    def _functions(self) -> dict[str, str]:
        return {name: f"functions/{name}" for name in self.pairs.names}


def compare_goals(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Shares of pairs of policies that end at different goals, and at the same, by the flags `goal_...` of each.

    A policy's goal is where most of its episodes end; it may have none, and a task may not tell.
    """
    names = [name for name in found[0] if name.startswith(GOAL)]
    if not names:
        return {}
    goals = [next((name for name in names if own[name] > 0.5), None) for own in found]
    pairs = list(combinations(goals, 2))
    known = [pair for pair in pairs if None not in pair]
    different = sum(one != other for one, other in known)
    return {"different_goals": different / len(pairs), "same_goal": (len(known) - different) / len(pairs)}
