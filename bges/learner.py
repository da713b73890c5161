"""What a run needs of an algorithm: something that asks for work and learns from what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bges.evolution.units import Context, Unit

Arrays = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an iteration gave: numbers for a row of metrics, and the n behaviours seen, which may be none.

    `embeddings` is (n, episodes, dim). `improved` says that the best policy so far was found in it.
    """

    iteration: int
    metrics: dict[str, float]
    rewards: NDArray[np.float64]
    novelties: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    signs: NDArray[np.float32]
    improved: bool
    seconds: dict[str, float]


class Learner(Protocol):
    """`ask` for the units of an iteration, play them anywhere in any order, `tell` all that came of them.

    Its state after any number of iterations is a function of the configuration alone.
    """

    iteration: int

    @property
    def dimension(self) -> int:
        """How many parameters a policy has."""

    @property
    def done(self) -> bool: ...

    @property
    def context(self) -> Context:
        """What the units of this iteration share."""

    def ask(self) -> list[Unit]:
        """The units of this iteration; asking again before telling gives the same."""

    def tell(self, results: Sequence[Any]) -> Report:
        """Move on to the next iteration. After a `RunError` everything is as it was before."""

    def conclude(self) -> dict[str, float]:
        """What is left of the last iteration and matters to nobody who plays the next one; more numbers for its row.

        Telling and asking for the state do it as well, where nobody has.
        """

    def use(self, play: Callable[[Sequence[Unit], Context], Sequence[Any]]) -> None:
        """Get to know workers that may be asked for more while it learns."""

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Everything that the next iterations depend on, as plain values and arrays."""

    def restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        """Go on from a `state`, byte for byte."""
