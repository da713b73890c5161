"""From a network's outputs to actions of a Gymnasium space."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_choice
from bges.errors import InputError

Float32 = NDArray[np.float32]
SQUASHES = ("clip", "tanh")


class ActionMap:
    """Outputs (n, `output_size`) to actions.

    A bounded Box: -1 and 1 are its bounds, by tanh or by clipping; noise is added after squashing, in the same
    units, and clipped. An unbounded Box takes outputs as they are. Discrete: the largest output wins.
    """

    def __init__(self, space: gymnasium.Space[Any], squash: str = "clip") -> None:
        check_choice("squash", squash, SQUASHES)
        self.squash = squash
        self.shape: tuple[int, ...] = ()
        self.discrete = isinstance(space, gymnasium.spaces.Discrete)
        if isinstance(space, gymnasium.spaces.Discrete):
            self.output_size, self._first = int(space.n), int(space.start)
            return
        if not isinstance(space, gymnasium.spaces.Box):
            raise InputError(f"the action space is {space}, expected a Box or Discrete")
        self.output_size, self.shape = int(np.prod(space.shape)), space.shape
        self._dtype = space.dtype
        low, high = space.low.reshape(-1).astype(np.float32), space.high.reshape(-1).astype(np.float32)
        self.bounded = bool(np.isfinite(low).all() and np.isfinite(high).all())
        if self.bounded:
            self._middle, self._half = np.float32(0.5) * (high + low), np.float32(0.5) * (high - low)

    def __call__(self, outputs: Float32, noise: NDArray[Any] | None = None) -> NDArray[Any]:
        if self.discrete:
            values = outputs if noise is None else outputs + noise
            chosen: NDArray[Any] = np.argmax(values, axis=1) + self._first
            return chosen
        if self.bounded:
            outputs = np.tanh(outputs) if self.squash == "tanh" else outputs
            if noise is not None:
                outputs = outputs + noise
            outputs = self._middle + self._half * np.clip(outputs, np.float32(-1), np.float32(1))
        elif noise is not None:
            outputs = outputs + noise
        return outputs.reshape(len(outputs), *self.shape).astype(self._dtype, copy=False)
