"""A cart on a line with two hills of reward, and what it does as one number."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Valley(gymnasium.Env):
    """A low hill of reward at -1, next to the start, a high one at `far`, almost nothing in between, walls behind both.

    The cart sees where it is and says how fast it goes. Standing on the low hill earns 1 a step, on the high one 3.
    """

    observation_space = Box(-np.inf, np.inf, (1,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, far=3.0):
        self.far = far

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(0.0, 0.05)
        return np.array([self.x]), {}

    def step(self, action):
        self.x = float(np.clip(self.x + 0.3 * action[0], -2.0, self.far + 1.0))
        low, high = np.exp(-2 * (self.x - np.array([-1.0, self.far])) ** 2)
        return np.array([self.x]), low + 3 * high, False, False, {"success": bool(high > 0.5)}


def whereabouts(trajectories):
    """Where the cart was on average in the second half of its episode: (n, 1)."""
    places = trajectories.observations
    return places[:, places.shape[1] // 2 :].mean(axis=1)


whereabouts.needs = ("observations",)  # what the rollouts have to keep for it
