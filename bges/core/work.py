"""What travels between a learner and those who play for it: units of work, what they share, what came of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bges.errors import BgesError
from bges.moments import Moments


class NonFiniteError(BgesError):
    """A rollout gave NaN or infinity."""


@dataclass(frozen=True, kw_only=True)
class Unit(ABC):
    """A chunk of an iteration's work; `index` is its place among the iteration's units."""

    iteration: int
    index: int

    def __str__(self) -> str:
        return f"iteration {self.iteration}, {self._what}"

    @property
    @abstractmethod
    def _what(self) -> str:
        """What is to be done, for people."""


@dataclass(frozen=True, kw_only=True)
class Evaluate(Unit):
    """Episodes of one of the context's policies, as it is."""

    policy: int
    episodes: int

    @property
    def _what(self) -> str:
        return f"{self.episodes} evaluation episodes"


@dataclass(frozen=True, kw_only=True)
class Perturb(Unit):
    """Perturbations `start` to `stop`, each of one of the context's policies."""

    start: int
    stop: int
    policy: int = 0

    @property
    def _what(self) -> str:
        return f"perturbed policies {self.start} to {self.stop - 1}"


@dataclass(frozen=True, kw_only=True)
class Vary(Unit):
    """The context's variations `start` to `stop`."""

    start: int
    stop: int

    @property
    def _what(self) -> str:
        return f"variations {self.start} to {self.stop - 1}"


@dataclass(frozen=True, kw_only=True)
class Sample(Unit):
    """Steps of environments `start` to `stop`, with actions drawn by one of the context's policies."""

    policy: int
    start: int
    stop: int

    @property
    def _what(self) -> str:
        return f"sampling environments {self.start} to {self.stop - 1}"


@dataclass(frozen=True, kw_only=True)
class Reduce(Unit):
    """Parameters `start` to `stop` of the weighted sum of all perturbations."""

    start: int
    stop: int

    @property
    def _what(self) -> str:
        return f"sums of parameters {self.start} to {self.stop - 1}"


@dataclass(frozen=True, kw_only=True)
class Context(ABC):
    """What all units of an iteration share; sent to each worker once."""

    iteration: int

    @property
    def key(self) -> tuple[int, str]:
        """Tells it from the others that a worker may hold."""
        return self.iteration, type(self).__name__

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """What its arrays take on their way."""


@dataclass(frozen=True, kw_only=True)
class Variations:
    """n new policies a + line (b - a) + scale ε: `first` (n,) are the rows of a, `second` those of b.

    `offsets` (n,) are the places of ε in the noise table, `seeds` (n, e) those of the episodes.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    lines: NDArray[np.float32]
    scales: NDArray[np.float32]
    offsets: NDArray[np.int64]
    seeds: NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Policies(Context):
    """Parameters (m, d) of policies, what normalises the observations of each, and how far each is perturbed.

    Without `sigmas` that is the configuration's; `variations` are of these policies.
    """

    thetas: NDArray[np.float32]
    moments: tuple[Moments | None, ...]
    sigmas: tuple[float, ...] | None = None
    variations: Variations | None = None

    @property
    def nbytes(self) -> int:
        # One object in many rows travels once.
        moments = {id(m): 2 * m.mean.nbytes for m in self.moments if m is not None}
        varied = 0 if self.variations is None else sum(array.nbytes for array in vars(self.variations).values())
        return self.thetas.nbytes + sum(moments.values()) + varied


@dataclass(frozen=True, kw_only=True)
class Weights(Context):
    """A weight for each direction of perturbation, (n,)."""

    weights: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes


@dataclass(frozen=True, kw_only=True)
class Work:
    """Units and what they share."""

    units: list[Unit]
    context: Context


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
class Played(Outcome):
    """Whole episodes of k policies, e of each: what `Evaluate` and `Perturb` give.

    `returns` (k, e) of the episodes, `peaks` (k, e) the rewards of their best steps, `late` (k, e) the mean rewards
    towards their ends; `embeddings` (k, e, dim) in float32; `flags` (k, e) that the environment reported; `inputs` the
    moments of what the policies saw.
    """

    CHECKED = ("returns", "peaks", "late", "embeddings")

    returns: NDArray[np.float64]
    peaks: NDArray[np.float64]
    late: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    flags: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    inputs: Moments | None = None

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [self.returns, self.peaks, self.late, self.embeddings, *self.flags.values()]
        if self.inputs is not None:
            arrays += [self.inputs.mean, self.inputs.m2]
        return sum(array.nbytes for array in arrays)

    @property
    def score(self) -> float:
        return float(self.returns.mean())

    @property
    def behavior(self) -> NDArray[np.float64]:
        """The mean embedding of the first policy, (dim,)."""
        return self.embeddings[0].astype(np.float64).mean(axis=0)


@dataclass(frozen=True, kw_only=True)
class Reduced(Outcome):
    """What `Reduce` gives: `values` (stop - start,)."""

    CHECKED = ("values",)

    values: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes
