"""Environments whose answers are known."""

import gymnasium
import numpy as np


class Aim(gymnasium.Env):
    """Sees a number x; the action 0.5 x + 0.3 is right, and costs its squared error."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action):
        reward = -float((action[0] - 0.5 * self._x - 0.3) ** 2)
        return self._look(), reward, False, False, {}

    def _look(self):
        self._x = self.np_random.uniform(-1.0, 1.0)
        return np.array([self._x], np.float32)


class Countdown(gymnasium.Env):
    """Sees how many steps it has taken and how many it will take, 1 to 9 by its seed; ends by itself after them."""

    observation_space = gymnasium.spaces.Box(0.0, 20.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._taken, self._length = 0, int(self.np_random.integers(1, 10))
        return self._look(), {}

    def step(self, action):
        self._taken += 1
        return self._look(), float(self._taken), self._taken == self._length, False, {}

    def _look(self):
        return np.array([self._taken, self._length], np.float32)


class Broken(Aim):
    """Rewards too large for single precision."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward * 1e40, *rest


class Ill(Aim):
    """Gives a number that is none after some steps."""

    def __init__(self, what, step=2):
        self._what, self._last = what, step

    def reset(self, *, seed=None, options=None):
        self._left = self._last
        return super().reset(seed=seed)

    def step(self, action):
        observation, reward, *rest = super().step(action)
        self._left -= 1
        if self._left == 0 and self._what == "observation":
            observation = observation * np.nan
        if self._left == 0 and self._what == "reward":
            reward = np.inf
        return observation, reward, *rest
