"""Test functions between every two of several policies: what each trajectory adds to the distances."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bges.behavior import FitResult, TestFunctions
from bges.config.run import RunConfig
from bges.core.functions import make_test_functions, own_cost
from bges.core.state import Arrays, part, prefixed

Array = NDArray[np.float64]


class Pairs:
    """For every i < j the functions λ_i and λ_j of the clouds of policies i (μ) and j (ν)."""

    def __init__(self, config: RunConfig, policies: int) -> None:
        self._config = config
        self._pairs = list(combinations(range(policies), 2))
        self.functions: dict[tuple[int, int], TestFunctions] = {}

    @property
    def clipped(self) -> int:
        """Exponents cut so far."""
        return sum(functions.clipped for functions in self.functions.values())

    def gains(self, clouds: list[Array]) -> list[Array]:
        """What each trajectory of clouds (n, d) adds to its policy's mean distance from the others; 0 before a fit."""
        gains = [np.zeros(len(cloud)) for cloud in clouds]
        for (i, j), functions in self.functions.items():
            for member, added in zip((i, j), functions.contributions(clouds[i], clouds[j]), strict=True):
                gains[member] += added / (len(clouds) - 1)
        return gains

    def fit(self, clouds: list[Array]) -> list[FitResult]:
        """Warm-started updates of all functions."""
        for i, j in self._pairs:
            if (i, j) not in self.functions:
                self.functions[i, j] = make_test_functions(self._config, clouds[i].shape[1], i, j)
        steps = self._config.novelty.updates
        return [functions.fit(clouds[i], clouds[j], steps) for (i, j), functions in self.functions.items()]

    @property
    def names(self) -> list[str]:
        """Of the functions that there are, in `state`: "0-1" for instance."""
        return [f"{i}-{j}" for i, j in self.functions]

    def state(self) -> Arrays:
        state: Arrays = {}
        for name, functions in zip(self.names, self.functions.values(), strict=True):
            state |= prefixed(name, functions.state())
        return state

    def restore(self, arrays: Arrays) -> None:
        cost = own_cost(self._config.novelty.cost)
        found = {(i, j): part(arrays, f"{i}-{j}") for i, j in self._pairs}
        self.functions = {pair: TestFunctions.from_state(own, cost=cost) for pair, own in found.items() if own}
