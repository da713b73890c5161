"""How the weight of novelty changes during a run."""

from typing import Protocol

from bges.config.evolution import NoveltyConfig


class Schedule(Protocol):
    """`turn` is the iteration before which the best policies take over, by reward alone; None where they never do."""

    turn: int | None

    def beta(self, iteration: int) -> float:
        """The weight that an iteration uses."""

    def observe(self, score: float) -> None:
        """Hear the score of an evaluation."""

    def state(self) -> dict[str, float]: ...

    def restore(self, state: dict[str, float]) -> None: ...


class Constant:
    """The same weight throughout; the paper's."""

    turn: int | None = None

    def __init__(self, config: NoveltyConfig, iterations: int) -> None:
        self._config, self._iterations = config, iterations
        self._at = round(config.settle_at * iterations)

    def beta(self, iteration: int) -> float:
        return self._config.beta

    def observe(self, score: float) -> None:
        pass

    def state(self) -> dict[str, float]:
        return {}

    def restore(self, state: dict[str, float]) -> None:
        pass


class Linear(Constant):
    """Constant until `settle_at`, then down to zero at the last iteration in a straight line."""

    def beta(self, iteration: int) -> float:
        left = (self._iterations - 1 - iteration) / max(self._iterations - 1 - self._at, 1)
        return self._config.beta * min(max(left, 0.0), 1.0)


class ExploreThenSettle(Constant):
    """Constant until `settle_at`; then the best policies so far are improved by reward alone."""

    def __init__(self, config: NoveltyConfig, iterations: int) -> None:
        super().__init__(config, iterations)
        # With nothing to settle from there is only the first part.
        self.turn = self._at or None

    def beta(self, iteration: int) -> float:
        return self._config.beta if iteration < self._at else 0.0


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
}
