"""A policy under evolution: its parameters, its optimiser and what normalises its observations."""

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.optimizers import Adam, Optimizer, Sgd
from bges.core.snapshot import Snapshot
from bges.core.state import Arrays, part, prefixed
from bges.core.work import Played
from bges.moments import Moments

Array = NDArray[np.float64]


class Member:
    """θ in double precision.

    `behavior` and `score` are those of its last evaluation; `seen` says whether that was of its present parameters.
    """

    def __init__(self, config: RunConfig, policy: Snapshot, *, rate: float | None = None) -> None:
        self._config = config
        self.theta, self.moments = np.array(policy.theta, np.float64), policy.moments
        self.optimizer = _optimizer(config, len(self.theta), config.es.learning_rate if rate is None else rate)
        self.behavior: Array | None = None
        self.score = float("-inf")
        self.seen = False

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(theta=self.theta.copy(), moments=self.moments)

    def hear(self, evaluation: Played) -> None:
        self.behavior, self.score, self.seen = evaluation.behavior, evaluation.score, True

    def step(self, gradient: Array) -> None:
        self.seen = False
        self.theta = self.theta + self.optimizer.step(gradient - self._config.es.weight_decay * self.theta)

    def state(self) -> Arrays:
        state: Arrays = self.snapshot.arrays() | prefixed("optimizer", self.optimizer.state())
        state |= {"seen": np.array(self.seen), "score": np.array(self.score)}
        return state if self.behavior is None else state | {"behavior": self.behavior}

    def restore(self, state: Arrays) -> None:
        self.theta, self.seen = np.array(state["theta"], float), bool(state["seen"])
        self.score = float(state["score"])
        self.optimizer.restore(part(state, "optimizer"))
        self.moments = Moments.restored(part(state, "moments"))
        self.behavior = np.array(state["behavior"], float) if "behavior" in state else None


def _optimizer(config: RunConfig, size: int, rate: float) -> Optimizer:
    es = config.es
    return Adam(size, rate) if es.optimizer == "adam" else Sgd(size, rate, momentum=es.momentum)
