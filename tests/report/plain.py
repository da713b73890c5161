"""An environment of a user's own, in one dimension and without pictures."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Plain(gymnasium.Env):
    observation_space = Box(-np.inf, np.inf, (1,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(0.0, 0.1)
        return np.array([self.x]), {}

    def step(self, action):
        self.x += 0.5 * float(action[0])
        return np.array([self.x]), -abs(self.x - 3.0), False, False, {}
