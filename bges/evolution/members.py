"""A policy under evolution: its parameters, its optimiser and what normalises its observations."""

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.optimizers import Adam, Optimizer, Sgd
from bges.moments import Moments

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[np.generic]]


class Member:
    """θ in double precision.

    `behavior` and `score` are its last known mean embedding and score, for choosing among members; `archived` says
    whether the behaviour of its present parameters is in the archive.
    """

    def __init__(self, config: RunConfig, theta: Array, moments: Moments | None = None) -> None:
        self._config = config
        self.theta = np.array(theta, np.float64)
        self.moments = moments
        self.optimizer = self._fresh_optimizer(config.es.learning_rate)
        self.behavior: Array | None = None
        self.score = float("-inf")
        self.archived = False

    def _fresh_optimizer(self, rate: float) -> Optimizer:
        es, size = self._config.es, len(self.theta)
        return Adam(size, rate) if es.optimizer == "adam" else Sgd(size, rate, momentum=es.momentum)

    def restart(self, theta: Array, moments: Moments | None, rate: float) -> None:
        """Go on from other parameters at another rate, with nothing remembered of the way here."""
        self.theta, self.moments = theta.copy(), moments
        self.optimizer = self._fresh_optimizer(rate)

    def step(self, gradient: Array) -> None:
        self.archived = False
        self.theta = self.theta + self.optimizer.step(gradient - self._config.es.weight_decay * self.theta)

    def see(self, inputs: Moments) -> None:
        self.moments = inputs if self.moments is None else self.moments.merge(inputs)

    def state(self) -> Arrays:
        state: Arrays = {"theta": self.theta, "archived": np.array(self.archived), "score": np.array(self.score)}
        state |= {f"optimizer/{name}": array for name, array in self.optimizer.state().items()}
        if self.moments is not None:
            state |= {f"moments/{name}": array for name, array in self.moments.to_arrays().items()}
        if self.behavior is not None:
            state["behavior"] = self.behavior
        return state

    def restore(self, state: Arrays) -> None:
        self.theta, self.archived = np.array(state["theta"], float), bool(state["archived"])
        self.score = float(state["score"])
        self.optimizer.restore(part(state, "optimizer"))
        self.moments = moments_of(part(state, "moments"))
        self.behavior = np.array(state["behavior"], float) if "behavior" in state else None


def part(state: Arrays, name: str) -> Arrays:
    """The entries of `state` under `name/`, without it."""
    return {key.removeprefix(f"{name}/"): array for key, array in state.items() if key.startswith(f"{name}/")}


def moments_of(arrays: Arrays) -> Moments | None:
    return Moments.from_arrays(arrays) if arrays else None
