"""From a gradient to a step of ascent; the state is arrays, so that it can be stored."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[np.generic]]


class Optimizer(Protocol):
    def step(self, gradient: Array) -> Array:
        """What to add to the parameters."""

    def state(self) -> Arrays: ...

    def restore(self, state: Arrays) -> None: ...


class Adam:
    """Kingma and Ba's, with the usual decay rates."""

    def __init__(self, size: int, rate: float, *, decay: float = 0.9, square_decay: float = 0.999) -> None:
        self.rate, self._decay, self._square_decay = rate, decay, square_decay
        self._mean, self._square, self._steps = np.zeros(size), np.zeros(size), 0

    def step(self, gradient: Array) -> Array:
        self._steps += 1
        self._mean = self._decay * self._mean + (1 - self._decay) * gradient
        self._square = self._square_decay * self._square + (1 - self._square_decay) * np.square(gradient)
        mean = self._mean / (1 - self._decay**self._steps)
        square = self._square / (1 - self._square_decay**self._steps)
        return self.rate * mean / (np.sqrt(square) + 1e-8)

    def state(self) -> Arrays:
        return {
            "rate": np.array(self.rate),
            "mean": self._mean,
            "square": self._square,
            "steps": np.array(self._steps),
        }

    def restore(self, state: Arrays) -> None:
        self.rate = float(state["rate"])
        self._mean, self._square = np.array(state["mean"], float), np.array(state["square"], float)
        self._steps = int(state["steps"])


class Sgd:
    """Gradient ascent with momentum."""

    def __init__(self, size: int, rate: float, *, momentum: float = 0.9) -> None:
        self.rate, self._momentum, self._velocity = rate, momentum, np.zeros(size)

    def step(self, gradient: Array) -> Array:
        self._velocity = self._momentum * self._velocity + (1 - self._momentum) * gradient
        return self.rate * self._velocity

    def state(self) -> Arrays:
        return {"rate": np.array(self.rate), "velocity": self._velocity}

    def restore(self, state: Arrays) -> None:
        self.rate, self._velocity = float(state["rate"]), np.array(state["velocity"], float)
