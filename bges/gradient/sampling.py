"""What all learners from sampled steps have in common: exact results in, and nothing changed by a failed update."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.learner import Report
from bges.core.work import Context, Outcome, Result, Unit
from bges.errors import BgesError, InputError, RunError
from bges.evolution.elites import Best

Arrays = dict[str, NDArray[np.generic]]


class SamplingLearner(ABC):
    """A `Learner` that undoes an iteration in which something became NaN or infinite."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.iteration = 0
        self.env_steps = 0

    @property
    def done(self) -> bool:
        return self.iteration >= self.config.iterations

    def ask(self) -> list[Unit]:
        """The units of this iteration, evaluations of the mean policies first; asking again gives the same."""
        units: list[Unit] = []
        every, episodes = self.config.evaluation.every, self.config.evaluation.episodes
        if self.iteration % every == 0 or self.iteration == self.config.iterations - 1:
            for member in range(self._members):
                units.append(self._unit(len(units), "evaluate", 0, episodes, member))
        count, chunk = self._slots
        for member in range(self._members):
            # Slots are numbered through all members, so that no two draw the same numbers.
            first = member * count
            for start in range(first, first + count, chunk):
                units.append(self._unit(len(units), "sample", start, min(start + chunk, first + count), member))
        return units

    def _unit(self, index: int, kind: Any, start: int, stop: int, member: int) -> Unit:
        return Unit(iteration=self.iteration, index=index, kind=kind, start=start, stop=stop, member=member)

    def conclude(self) -> dict[str, float]:
        """What is left of the last iteration; here nothing."""
        return {}

    def use(self, play: Callable[[Sequence[Unit], Context], Sequence[Any]]) -> None:  # noqa: B027
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

    @property
    @abstractmethod
    def _members(self) -> int:
        """Policies that are sampled side by side."""

    @property
    @abstractmethod
    def _slots(self) -> tuple[int, int]:
        """Slots of each, and how many of them are played at once."""

    @abstractmethod
    def _learn(self, results: Sequence[Outcome]) -> Report: ...

    @property
    @abstractmethod
    def best(self) -> Best | None:
        """The policy with the best evaluation so far."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, Arrays]]:
        """What a learner has of its own, as plain values and groups of arrays."""

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything that the next iterations depend on, as plain values and arrays."""
        self.conclude()
        own, parts = self._state()
        values = {"iteration": self.iteration, "env_steps": self.env_steps, "current": 0, "best": None, **own}
        if self.best is not None:
            values["best"] = {"score": self.best.score, "iteration": self.best.iteration}
            parts["best"] = self.best.arrays()
        return values, {f"{name}/{key}": array for name, group in parts.items() for key, array in group.items()}

    @abstractmethod
    def restore(self, values: dict[str, Any], arrays: Arrays) -> None: ...


def evaluated(result: Result) -> dict[str, float]:
    """The score of an evaluation, and the shares of its episodes with each flag."""
    shares = {name: float(flags.mean()) for name, flags in result.flags.items()}
    metrics = {"score": float(result.rewards.mean()), "score_std": float(result.rewards.std()), **shares}
    metrics["success_rate"] = metrics.pop("success", float("nan"))
    return metrics
