"""How the weight of novelty changes during a run."""

from typing import Protocol

from bges.config.evolution import NoveltyConfig


class Schedule(Protocol):
    turn: int

    def beta(self, iteration: int) -> float:
        """The weight that an iteration uses."""

    def restarts(self, iteration: int) -> bool:
        """Whether the best policy so far takes over, with a fresh optimiser, before this iteration."""

    def settled(self, iteration: int) -> bool:
        """Whether the restart, at `turn`, has been."""

    def observe(self, score: float) -> None:
        """Hear the score of an evaluation."""

    def state(self) -> dict[str, float]: ...

    def restore(self, state: dict[str, float]) -> None: ...


class Constant:
    """The same weight throughout; the paper's."""

    def __init__(self, config: NoveltyConfig, iterations: int) -> None:
        self._config, self.turn = config, round(config.settle_at * iterations)
        self._iterations = iterations

    def beta(self, iteration: int) -> float:
        return self._config.beta

    def restarts(self, iteration: int) -> bool:
        return False

    def settled(self, iteration: int) -> bool:
        return False

    def observe(self, score: float) -> None:
        pass

    def state(self) -> dict[str, float]:
        return {}

    def restore(self, state: dict[str, float]) -> None:
        pass


class Linear(Constant):
    """Constant until `settle_at`, then down to zero at the last iteration in a straight line."""

    def beta(self, iteration: int) -> float:
        left = (self._iterations - 1 - iteration) / max(self._iterations - 1 - self.turn, 1)
        return self._config.beta * min(max(left, 0.0), 1.0)


class ExploreThenSettle(Constant):
    """Constant until `settle_at`; then the best policy so far is improved by reward alone."""

    def beta(self, iteration: int) -> float:
        return self._config.beta if iteration < self.turn else 0.0

    def restarts(self, iteration: int) -> bool:
        return iteration == self.turn and iteration > 0

    def settled(self, iteration: int) -> bool:
        return iteration >= self.turn > 0


class Cycles(ExploreThenSettle):
    """Until `settle_at`, `cycles` times: constant, then zero for as long. Then the best policy so far is improved.

    Each time, reward alone first shows what the place that exploration has come to is worth.
    """

    def beta(self, iteration: int) -> float:
        half = iteration * 2 * self._config.cycles // max(self.turn, 1)
        return self._config.beta if iteration < self.turn and half % 2 == 0 else 0.0


class Adaptive(Constant):
    """Up by a step after `patience` evaluations without a better score, down by one at a better score; bounded."""

    def __init__(self, config: NoveltyConfig, iterations: int) -> None:
        super().__init__(config, iterations)
        self._weight, self._best, self._stalled = abs(config.beta), float("-inf"), 0

    def beta(self, iteration: int) -> float:
        return self._weight if self._config.beta >= 0 else -self._weight

    def observe(self, score: float) -> None:
        if score > self._best:
            self._best, self._stalled = score, 0
            self._weight = max(self._weight - self._config.beta_step, 0.0)
            return
        self._stalled += 1
        if self._stalled >= self._config.patience:
            self._stalled = 0
            self._weight = min(self._weight + self._config.beta_step, self._config.beta_max)

    def state(self) -> dict[str, float]:
        return {"weight": self._weight, "best": self._best, "stalled": self._stalled}

    def restore(self, state: dict[str, float]) -> None:
        self._weight, self._best, self._stalled = state["weight"], state["best"], int(state["stalled"])


SCHEDULES: dict[str, type[Constant]] = {
    "constant": Constant,
    "linear": Linear,
    "adaptive": Adaptive,
    "explore_then_settle": ExploreThenSettle,
    "cycles": Cycles,
}
