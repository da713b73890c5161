"""The ant trap of quality-diversity papers: progress pays, and straight ahead there is a dead end."""

import dataclasses

import numpy as np

from bges_envs.environment import TaskEnv
from bges_envs.quadruped import Quadruped
from bges_envs.task import Array
from bges_envs.vector import TaskVectorEnv


@dataclasses.dataclass(frozen=True, kw_only=True)
class AntTrap(Quadruped):
    """Torques; 29 observations. Reward: forward speed, 1 for being up, minus half of the actions' squares.

    The trap has the inside of the one in QDax: 5 m wide, its end at x = 11.5. The behaviour that is looked for there
    is the final x and y in [0, 30] x [-8, 8].
    """

    horizon: int = 1000
    trap_x: float = 12.0
    trap_half_width: float = 3.0
    trap_half_length: float = 3.0
    wall_half_thickness: float = 0.5
    actuation: str = "torque"
    healthy_z: tuple[float, float] = (0.2, 1.0)
    observe_contacts: bool = False

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        speed = (after[:, 1] - before[:, 1]) / self.step_seconds
        return speed + 1.0 - 0.5 * np.square(actions).sum(axis=1)

    def idle_reward(self, states: Array) -> Array:
        # The reward for being up, paid for steps that were not taken, would make divergence pay.
        return np.zeros(len(states))


class AntTrapEnv(TaskEnv):
    task_type = AntTrap


class AntTrapVectorEnv(TaskVectorEnv):
    task_type = AntTrap
