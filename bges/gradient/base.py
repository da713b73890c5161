"""What all learners from sampled steps have in common: several policies at once, or one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.evaluation import NOT_EVALUATED, summary
from bges.core.learner import Report, State, in_order
from bges.core.snapshot import Scored, Snapshot
from bges.core.state import Arrays, part, prefixed
from bges.core.work import Evaluate, Outcome, Played, Policies, Sample, Unit
from bges.errors import BgesError, RunError
from bges.gradient.networks import fix_bits
from bges.gradient.samples import Sampled
from bges.moments import Moments
from bges.policies import Policy
from bges.stochastic import StochasticMLP

Numbers = dict[str, float]


class SamplingLearner(ABC):
    """A `Learner` that undoes an iteration in which something became NaN or infinite.

    `policies` are those that are sampled now, `bests` the best of each by its evaluations so far.
    """

    delegates = False

    def __init__(self, config: RunConfig, policy: Policy, thetas: Sequence[Any]) -> None:
        fix_bits()
        assert isinstance(policy, StochasticMLP)
        self.config, self.policy = config, policy
        self.iteration = self.env_steps = 0
        self.policies = [Snapshot(theta=np.array(theta, np.float64), moments=None) for theta in thetas]
        self.bests: list[Scored | None] = [None] * len(thetas)

    @property
    def dimension(self) -> int:
        return len(self.policies[0].theta)

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations

    @property
    def best(self) -> Scored | None:
        """The policy with the best evaluation so far."""
        return max((best for best in self.bests if best is not None), key=lambda best: best.score, default=None)

    @property
    def context(self) -> Policies:
        """The policies, and what normalises the observations of each."""
        normalize = self.config.policy.normalize_observations
        return Policies(
            iteration=self.iteration,
            thetas=np.stack([policy.theta for policy in self.policies]).astype(np.float32),
            moments=tuple(policy.moments if normalize else None for policy in self.policies),
        )

    @property
    @abstractmethod
    def _environments(self) -> tuple[int, int]:
        """Environments of each policy, and how many of them are played at once."""

    def ask(self) -> list[Unit]:
        """The units of this iteration, evaluations of the mean policies first; asking again gives the same."""
        evaluation, iteration = self.config.evaluation, self.iteration
        due = iteration % evaluation.every == 0 or iteration == self.config.iterations - 1
        units: list[Unit] = [
            Evaluate(iteration=iteration, index=policy, policy=policy, episodes=evaluation.episodes)
            for policy in range(len(self.policies) if due else 0)
        ]
        count, chunk = self._environments
        for policy in range(len(self.policies)):
            # Environments are numbered through all policies, so that no two draw the same numbers.
            first, end = policy * count, (policy + 1) * count
            for start in range(first, end, chunk):
                stop = min(start + chunk, end)
                units.append(Sample(iteration=iteration, index=len(units), policy=policy, start=start, stop=stop))
        return units

    def tell(self, results: Sequence[Outcome]) -> Report:
        """Take all results of the units asked for, in any order, and move on to the next iteration.

        Where a term of the update is not finite, `RunError` says which, and everything is as it was before.
        """
        results = in_order(results, self)
        before = self.state()
        samples: list[list[Sampled]] = [[] for _ in self.policies]
        for result in results:
            if isinstance(result, Sampled) and isinstance(result.unit, Sample):
                samples[result.unit.policy].append(result)
        try:
            scores = self._hear([result for result in results if isinstance(result, Played)])
            self.env_steps += sum(result.steps for result in results)
            report = self._learn(scores, samples)
        except BgesError as error:
            self.restore(before)
            raise RunError(f"iteration {self.iteration}: {error}") from None
        self.iteration += 1
        return report

    def _hear(self, evaluations: Sequence[Played]) -> Numbers:
        """Scores of the mean policies, together and where there are several one by one; the best are remembered."""
        found = [summary(result) for result in evaluations]
        for i, own in enumerate(found):
            now, best = self.policies[i], self.bests[i]
            if best is None or own["score"] > best.score:
                self.bests[i] = Scored(
                    score=own["score"], iteration=self.iteration, theta=now.theta, moments=now.moments
                )
        metrics = {name: float(np.mean([own[name] for own in found])) for name in found[0]} if found else NOT_EVALUATED
        if len(found) > 1:
            metrics = metrics | self._compare(found) | {f"score_{i}": own["score"] for i, own in enumerate(found)}
        return metrics | {"best_score": float("nan") if self.best is None else self.best.score}

    def _compare(self, found: Sequence[Numbers]) -> Numbers:
        """What there is to say of several policies' evaluations beside their means."""
        return {}

    @abstractmethod
    def _learn(self, scores: Numbers, samples: list[list[Sampled]]) -> Report:
        """Change the policies by what was sampled of each."""

    def _move(self, policy: int, theta: NDArray[Any], samples: Sequence[Sampled]) -> None:
        """Give a policy other parameters and what was seen in sampling it."""
        moments = self.policies[policy].moments
        for seen in (moments for sample in samples for moments in sample.seen):
            moments = Moments.merged(moments, seen)
        self.policies[policy] = Snapshot(theta=theta.astype(np.float64), moments=moments)

    def _report(
        self,
        metrics: Numbers,
        returns: NDArray[np.float64],
        novelties: NDArray[np.float64],
        embeddings: NDArray[np.float32],
        seconds: Numbers,
    ) -> Report:
        """Of embeddings (n, dim), one episode each."""
        return Report(
            iteration=self.iteration,
            metrics={"iteration": self.iteration, "env_steps": self.env_steps, **metrics},
            returns=returns,
            novelties=novelties,
            embeddings=embeddings[:, None],
            signs=np.zeros(len(returns), np.float32),
            improved=self.best is not None and self.best.iteration == self.iteration,
            seconds=seconds,
        )

    def conclude(self) -> Numbers:
        """What is left of the last iteration; here nothing."""
        return {}

    @abstractmethod
    def _own_arrays(self) -> Arrays:
        """What the next iterations depend on beside the policies."""

    @abstractmethod
    def _restore_own(self, arrays: Arrays) -> None: ...

    @property
    def _functions(self) -> dict[str, str]:
        """Where in its own arrays test functions are, by their names."""
        return {}

    def state(self) -> State:
        self.conclude()
        kept: dict[str, Snapshot] = {f"last/{i}": policy for i, policy in enumerate(self.policies)}
        kept |= {f"best/{i}": best for i, best in enumerate(self.bests) if best is not None}
        arrays = self._own_arrays()
        for name, policy in kept.items():
            arrays |= prefixed(name, policy.arrays())
        policies = {name: name for name in kept} if len(self.policies) > 1 else {}
        policies["last"] = "last/0"
        if self.best is not None:
            policies["best"] = next(name for name, policy in kept.items() if policy is self.best)
        values = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "bests": [None if best is None else best.values() for best in self.bests],
        }
        return State(values=values, arrays=arrays, policies=policies, functions=self._functions)

    def restore(self, state: State) -> None:
        """Go on from a `state`, byte for byte."""
        values, arrays = state.values, state.arrays
        self.iteration, self.env_steps = values["iteration"], values["env_steps"]
        self.policies = [Snapshot.restored(part(arrays, f"last/{i}")) for i in range(len(self.policies))]
        self.bests = [Scored.of(own, part(arrays, f"best/{i}")) for i, own in enumerate(values["bests"])]
        self._restore_own(arrays)
