"""What travels between the strategy and those who play."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bges.errors import BgesError
from bges.moments import Moments

KINDS = {"perturb": "perturbations", "evaluate": "evaluation episodes", "sample": "sampling slots"}


class NonFiniteError(BgesError):
    """A rollout gave NaN or infinity."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A chunk of work: perturbations start..stop of an iteration, episodes of an unperturbed policy, or sampling slots.

    `index` is its place among the iteration's units; `member` is a row of the context.
    """

    iteration: int
    index: int
    kind: Literal["perturb", "evaluate", "sample"]
    start: int
    stop: int
    member: int = 0

    def __str__(self) -> str:
        return f"iteration {self.iteration}, {KINDS[self.kind]} {self.start} to {self.stop - 1}"


@dataclass(frozen=True, kw_only=True)
class Context:
    """What all units of an iteration share: parameters (m, d) of the policies played, and what normalises each."""

    iteration: int
    thetas: NDArray[np.float32]
    moments: tuple[Moments | None, ...]

    @property
    def nbytes(self) -> int:
        return self.thetas.nbytes + sum(2 * m.mean.nbytes for m in self.moments if m is not None)


@dataclass(frozen=True, kw_only=True)
class Outcome(ABC):
    """What came of a unit: environment `steps` taken in all, `seconds` of work; `CHECKED` names what must be finite."""

    CHECKED: ClassVar[tuple[str, ...]]

    unit: Unit
    steps: int
    seconds: float = 0.0

    def check(self) -> None:
        for name in self.CHECKED:
            if not np.isfinite(getattr(self, name)).all():
                raise NonFiniteError(f"{self.unit}: a rollout gave non-finite {name}")

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """What its arrays take on their way."""


@dataclass(frozen=True, kw_only=True)
class Result(Outcome):
    """What came of a unit of k policies with e episodes each.

    `rewards` (k, e) are those of whole episodes, `peaks` (k, e) of their best steps; `embeddings` (k, e, dim) in
    float32; `flags` (k, e) that the environment reported; `inputs` the moments of what the policies saw.
    """

    CHECKED = ("rewards", "peaks", "embeddings")

    rewards: NDArray[np.float64]
    peaks: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    flags: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    inputs: Moments | None = None

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [self.rewards, self.peaks, self.embeddings, *self.flags.values()]
        if self.inputs is not None:
            arrays += [self.inputs.mean, self.inputs.m2]
        return sum(array.nbytes for array in arrays)
