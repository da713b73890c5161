"""What travels between the strategy and those who play."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bges.errors import BgesError
from bges.moments import Moments

KINDS = {"perturb": "perturbations", "evaluate": "evaluation episodes", "sample": "sampling slots", "sum": "parameters"}


class NonFiniteError(BgesError):
    """A rollout gave NaN or infinity."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A chunk of work: perturbations start..stop of an iteration, episodes of an unperturbed policy, sampling slots,
    or parameters to be summed.

    `index` is its place among the iteration's units; `member` is a row of the context.
    """

    iteration: int
    index: int
    kind: Literal["perturb", "evaluate", "sample", "sum"]
    start: int
    stop: int
    member: int = 0

    def __str__(self) -> str:
        return f"iteration {self.iteration}, {KINDS[self.kind]} {self.start} to {self.stop - 1}"


@dataclass(frozen=True, kw_only=True)
class Context:
    """What all units of an iteration share: parameters (m, d) of the policies played, and what normalises each.

    For sums it is `weights` of the directions.
    """

    iteration: int
    thetas: NDArray[np.float32]
    moments: tuple[Moments | None, ...]
    weights: NDArray[np.float64] | None = None

    @property
    def key(self) -> tuple[int, bool]:
        """Tells it from the others that a worker may have got."""
        return self.iteration, self.weights is not None

    @property
    def nbytes(self) -> int:
        own = self.thetas.nbytes + (0 if self.weights is None else self.weights.nbytes)
        return own + sum(2 * m.mean.nbytes for m in self.moments if m is not None)


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


@dataclass(frozen=True, kw_only=True)
class Sums(Outcome):
    """Weighted sums over all directions, of parameters start..stop: `values` (stop - start,)."""

    CHECKED = ("values",)

    values: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes
