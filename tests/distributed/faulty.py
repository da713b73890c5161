"""Environments that fail as real ones do."""

import importlib.util
import os
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Faulty(gymnasium.Env):
    """A point on a line; at the third step of an episode, once or always, something goes wrong.

    `marker` is a file that says that it went wrong already; without one it goes wrong always.
    """

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, fault="none", marker=None):
        self.fault, self.marker = fault, marker

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.t = self.np_random.normal(size=2), 0
        return self.state.copy(), {}

    def step(self, action):
        self.t += 1
        self.state[0] += float(action[0])
        reward = -abs(self.state[0] - 1.0)
        if self.t == 3 and self._now():
            if self.fault == "exit":
                os._exit(1)
            if self.fault == "raise":
                raise ZeroDivisionError("the user's own mistake")
            if self.fault == "hang":
                time.sleep(600)
            if self.fault == "nan":
                reward = float("nan")
        return self.state.copy(), reward, False, False, {}

    def _now(self):
        if self.fault == "none":
            return False
        if self.marker is None:
            return True
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def cannot_start(marker=None):
    """An environment that can be built on the driver only."""
    if "ray" in os.environ.get("PYTHONPATH", "") or os.environ.get("RAY_WORKER_PROCESS"):
        raise RuntimeError("no")
    return Faulty()


def module_is_missing(name):
    return importlib.util.find_spec(name) is None
