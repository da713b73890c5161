"""Several policies that learn side by side and repel or attract each other by what they do."""

import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bges.config.run import RunConfig
from bges.core.learner import Report
from bges.core.optimizers import Adam
from bges.core.work import Context, Outcome, Result
from bges.evolution.elites import Best, Candidate
from bges.evolution.members import Array, Arrays, moments_of, part
from bges.gradient.networks import Network, fix_bits
from bges.gradient.pairs import Pairs
from bges.gradient.reinforce import WholeEpisodes, reinforce
from bges.gradient.samples import Rollouts, Sample
from bges.gradient.sampling import SamplingLearner, evaluated
from bges.gradient.updates import check_terms
from bges.moments import Moments
from bges.policies import Policy
from bges.stochastic import StochasticMLP

GOAL = "goal_"


class _One:
    """One of the policies: θ in double precision, its optimiser, its observation statistics and its best so far."""

    def __init__(self, theta: Any, rate: float) -> None:
        self.theta = np.array(theta, np.float64)
        self.optimizer = Adam(len(self.theta), rate)
        self.moments: Moments | None = None
        self.best: Best | None = None

    def see(self, samples: Sequence[Sample]) -> None:
        for seen in (moments for sample in samples for moments in sample.seen):
            self.moments = seen if self.moments is None else self.moments.merge(seen)

    def state(self) -> Arrays:
        optimizer = {f"optimizer/{name}": array for name, array in self.optimizer.state().items()}
        return Candidate(theta=self.theta, moments=self.moments).arrays() | optimizer

    def restore(self, arrays: Arrays) -> None:
        self.theta = np.array(arrays["theta"], float)
        self.moments = moments_of(part(arrays, "moments"))
        self.optimizer.restore(part(arrays, "optimizer"))


class Repulsion(SamplingLearner):
    """Each policy climbs R(τ) + β · what τ adds to its distance from the others, by REINFORCE with a baseline.

    β > 0 repels, β < 0 attracts. The noise of actions stays as it is.
    """

    def __init__(self, config: RunConfig, policy: Policy, thetas: Sequence[Any]) -> None:
        fix_bits()
        assert isinstance(policy, StochasticMLP)
        super().__init__(config)
        self.settings, self.policy = config.repulsion, policy
        self.members = [_One(theta, config.repulsion.learning_rate) for theta in thetas]
        self.pairs = Pairs(config, len(thetas))
        self._network = Network(policy.layout)

    @property
    def dimension(self) -> int:
        return len(self.members[0].theta)

    @property
    def best(self) -> Best | None:
        known = [one.best for one in self.members if one.best is not None]
        return max(known, key=lambda best: best.score, default=None)

    @property
    def _members(self) -> int:
        return len(self.members)

    @property
    def _slots(self) -> tuple[int, int]:
        return self.settings.trajectories, self.settings.chunk

    @property
    def context(self) -> Context:
        normalize = self.config.policy.normalize_observations
        return Context(
            iteration=self.iteration,
            thetas=np.stack([one.theta for one in self.members]).astype(np.float32),
            moments=tuple(one.moments if normalize else None for one in self.members),
        )

    def _learn(self, results: Sequence[Outcome]) -> Report:
        metrics = self._hear([result for result in results if isinstance(result, Result)])
        improved = self.best is not None and self.best.iteration == self.iteration
        self.env_steps += sum(result.steps for result in results)
        samples = [
            [result for result in results if isinstance(result, Sample) and result.unit.member == member]
            for member in range(len(self.members))
        ]
        played = [WholeEpisodes.of(Rollouts.of(own)) for own in samples]
        started = time.perf_counter()
        clouds = [episodes.embeddings for episodes in played]
        clipped = self.pairs.clipped
        gains = self.pairs.gains(clouds)
        fits = self.pairs.fit(clouds)
        seconds = {"scoring": time.perf_counter() - started}
        share = self._share
        beta = self.settings.beta * share
        for one in self.members:
            one.optimizer.rate = self.settings.learning_rate * share
        norms = [self._step(*of, beta) for of in zip(self.members, played, gains, samples, strict=True)]
        returns = np.concatenate([episodes.returns for episodes in played])
        metrics = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            **metrics,
            "reward_mean": float(returns.mean()),
            "reward_max": float(returns.max()),
            "reward_std": float(returns.std()),
            "novelty_mean": float(np.mean(gains)),
            "novelty_std": float(np.std(gains)),
            "wd": float(np.mean([fit.value for fit in fits])),
            "mean_f": float(np.mean([fit.mean_f for fit in fits])),
            "clipped": float(self.pairs.clipped - clipped),
            "beta": beta,
            "theta_norm": float(np.linalg.norm([one.theta for one in self.members])),
            "grad_norm": float(np.linalg.norm(norms)),
        }
        report = Report(
            iteration=self.iteration,
            metrics=metrics,
            rewards=returns,
            novelties=np.concatenate(gains),
            embeddings=np.concatenate(clouds)[:, None].astype(np.float32),
            signs=np.zeros(len(returns), np.float32),
            improved=improved,
            seconds=seconds,
        )
        self.iteration += 1
        return report

    @property
    def _share(self) -> float:
        """What is left of β and of the learning rate: all of it before `settle_at`."""
        left, total = self.config.iterations - self.iteration, self.config.iterations
        return min(left / max((1.0 - self.settings.settle_at) * total, 1.0), 1.0)

    def _step(self, one: _One, episodes: WholeEpisodes, gains: Array, samples: Sequence[Sample], beta: float) -> float:
        gradient = reinforce(self._network, one.theta, episodes, beta * gains)
        if not self.policy.layout.discrete:
            gradient[-self.policy.layout.outputs :] = 0.0
        check_terms({"gradient": np.abs(gradient).max()})
        one.theta = one.theta + one.optimizer.step(gradient)
        one.see(samples)
        return float(np.linalg.norm(gradient))

    def _hear(self, evaluations: Sequence[Result]) -> dict[str, float]:
        """Scores of the mean policies, together and one by one; the best of each is remembered."""
        if not evaluations:
            best = self.best
            nothing = {"score": float("nan"), "success_rate": float("nan")}
            return nothing | {"best_score": float("nan") if best is None else best.score}
        found = [evaluated(result) for result in evaluations]
        for one, own in zip(self.members, found, strict=True):
            if one.best is None or own["score"] > one.best.score:
                one.best = Best(
                    score=own["score"], iteration=self.iteration, theta=one.theta.copy(), moments=one.moments
                )
        metrics = {name: float(np.mean([own[name] for own in found])) for name in found[0]}
        assert self.best is not None
        metrics |= {"best_score": self.best.score, **compare_goals(found)}
        return metrics | {f"score_{member}": own["score"] for member, own in enumerate(found)}

    def _state(self) -> tuple[dict[str, Any], dict[str, Arrays]]:
        parts: dict[str, Arrays] = {f"member{i}": one.state() for i, one in enumerate(self.members)}
        parts["functions"] = self.pairs.state()
        scores = []
        for i, one in enumerate(self.members):
            if one.best is not None:
                scores.append({"score": one.best.score, "iteration": one.best.iteration})
                parts[f"best{i}"] = one.best.arrays()
        return {"members": len(self.members), "bests": scores}, parts

    def restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        """Go on from a `state`, byte for byte."""
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        self.pairs.restore(part(arrays, "functions"))
        for i, one in enumerate(self.members):
            one.restore(part(arrays, f"member{i}"))
            one.best = None
            if values["bests"]:
                one.best = Best(**values["bests"][i], **Candidate.parts(part(arrays, f"best{i}")))


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
