"""Tasks of the DeepMind Control Suite as Gymnasium environments: `env.id: "bges_envs.dm_control:DmControl"`."""

import warnings
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from bges.checks import check_choice
from bges.plugins import from_extra

Floats = NDArray[np.float64]


class DmControl(gymnasium.Env[Floats, NDArray[np.float32]]):
    """`task` is DOMAIN-TASK, as in hopper-stand. What is observed is one vector, in the suite's own order.

    Episodes end with the suite's time limit, 1000 steps in most tasks.
    """

    def __init__(self, task: str) -> None:
        with from_extra("dm", f"task {task}", "dm_control"), warnings.catch_warnings():
            # Without a display it says so, and draws by other means when it is asked to draw.
            warnings.simplefilter("ignore")
            from dm_control import suite

        check_choice("task", task, [f"{domain}-{name}" for domain, name in suite.ALL_TASKS])
        self._env: Any = suite.load(*task.split("-"))
        size = sum(int(np.prod(spec.shape, dtype=int)) for spec in self._env.observation_spec().values())
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        actions = self._env.action_spec()
        self.action_space = Box(actions.minimum.astype(np.float32), actions.maximum.astype(np.float32))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        self._env.task.random.seed(int(self.np_random.integers(2**32)))
        return _flat(self._env.reset()), {}

    def step(self, action: NDArray[np.float32]) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        moment = self._env.step(action)
        over = bool(moment.last())
        # Time that has run out leaves the discount at 1.
        return _flat(moment), float(moment.reward), over and moment.discount == 0, over and moment.discount > 0, {}

    def close(self) -> None:
        self._env.close()


def _flat(moment: Any) -> Floats:
    return np.concatenate([np.ravel(value) for value in moment.observation.values()]).astype(np.float64)
