"""What a run needs of an algorithm: something that asks for work and learns from what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bges.core.state import Arrays
from bges.core.work import Context, Outcome, Unit, Work
from bges.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an iteration gave: numbers for a row of metrics, and the n behaviours seen, which may be none.

    `embeddings` is (n, episodes, dim). `improved` says that the best policy so far was found in it.
    """

    iteration: int
    metrics: dict[str, float]
    returns: NDArray[np.float64]
    novelties: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    signs: NDArray[np.float32]
    improved: bool
    seconds: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class State:
    """Everything that the next iterations depend on, as plain values and arrays.

    `policies` and `functions` say where in the arrays others find what they may read: policies under "last" and,
    where there is one, "best"; of several that learn side by side also under "last/0", "best/0" and so on; test
    functions under names of their own.
    """

    values: dict[str, Any]
    arrays: Arrays
    policies: dict[str, str]
    functions: dict[str, str]


class Learner(Protocol):
    """`ask` for the units of an iteration, play them anywhere in any order, `tell` all that came of them.

    Its state after any number of iterations is a function of the configuration alone. With `delegates` set, `tell`
    may hand a large update back as more work.
    """

    iteration: int
    delegates: bool

    @property
    def dimension(self) -> int:
        """How many parameters a policy has."""

    @property
    def done(self) -> bool: ...

    @property
    def context(self) -> Context:
        """What the units of this iteration share."""

    def ask(self) -> Sequence[Unit]:
        """The units of this iteration; asking again before telling gives the same."""

    def tell(self, results: Sequence[Outcome]) -> Report | Work:
        """Move on to the next iteration; after a `RunError` everything is as it was before.

        `Work` is what is left to do before that: tell what came of it, or nothing, and the learner does it alone.
        """

    def conclude(self) -> dict[str, float]:
        """What is left of the last iteration and matters to nobody who plays the next one; more numbers for its row.

        Telling and asking for the state do it as well, where nobody has.
        """

    def state(self) -> State: ...

    def restore(self, state: State) -> None:
        """Go on from a `state`, byte for byte."""


def in_order(results: Sequence[Outcome], learner: Learner) -> list[Outcome]:
    """Results in the order of their units; refused if they are not exactly those of the units asked for."""
    ordered = sorted(results, key=lambda result: result.unit.index)
    if [result.unit for result in ordered] != list(learner.ask()):
        raise InputError(f"tell needs exactly the results of iteration {learner.iteration}'s units")
    return ordered
