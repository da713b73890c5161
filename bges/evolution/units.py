"""What travels between the strategy and those who play."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bges.errors import BgesError
from bges.moments import Moments


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
class Result:
    """What came of a unit of k policies with e episodes each.

    `rewards` (k, e) are those of whole episodes, `peaks` (k, e) of their best steps; `embeddings` (k, e, dim) in
    float32; `steps` taken in all; `flags` (k, e) that the environment reported; `inputs` the moments of what the
    policies saw; `seconds` of work.
    """

    unit: Unit
    rewards: NDArray[np.float64]
    peaks: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    steps: int
    flags: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    inputs: Moments | None = None
    seconds: float = 0.0

    def check(self) -> None:
        for name, values in (("rewards", self.rewards), ("peaks", self.peaks), ("embeddings", self.embeddings)):
            if not np.isfinite(values).all():
                raise NonFiniteError(f"a rollout of {self.unit} gave non-finite {name}")

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [self.rewards, self.peaks, self.embeddings, *self.flags.values()]
        if self.inputs is not None:
            arrays += [self.inputs.mean, self.inputs.m2]
        return sum(array.nbytes for array in arrays)
