"""A particle on the plane with two goals, equally good: which one is a matter of behaviour."""

import dataclasses
from typing import ClassVar

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_positive
from bges_envs.environment import TaskEnv
from bges_envs.task import ASSETS, Array, Bools, Plane, Task
from bges_envs.vector import TaskVectorEnv


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultiGoal(Task):
    """Moves by its action: s' = s + a. Reward: -30 |a|^2 - (distance of s to the nearer goal)^2.

    The goals lie at (-goal_x, 0) and (goal_x, 0); the first state is drawn from a Gaussian round the origin.
    """

    horizon: int = 20
    goal_x: float = 2.0
    goal_radius: float = 0.5
    action_cost: float = 30.0
    start_variance: float = 0.1
    action_limit: float = 1.0

    kinematic: ClassVar[bool] = True
    observes_plane: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("goal_x", "goal_radius", "action_limit"):
            check_positive(name, getattr(self, name))
        for name in ("action_cost", "start_variance"):
            check_positive(name, getattr(self, name), zero=True)

    def goals(self) -> list[tuple[Plane, float]]:
        return [((-self.goal_x, 0.0), self.goal_radius), ((self.goal_x, 0.0), self.goal_radius)]

    def build(self) -> mujoco.MjSpec:
        spec = mujoco.MjSpec.from_file(str(ASSETS / "multi_goal.xml"))
        for name, (centre, radius) in zip(("left", "right"), self.goals(), strict=True):
            spec.worldbody.add_geom(
                name=name,
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                pos=[*centre, 0.01],
                size=[radius, 0.01, 0],
                rgba=[0.2, 0.65, 0.3, 0.8],
            )
        return spec

    @property
    def action_space(self) -> gymnasium.spaces.Box:
        return gymnasium.spaces.Box(-self.action_limit, self.action_limit, (2,), np.float32)

    def start(self, rng: np.random.Generator) -> Array:
        return self.first_state(rng.normal(0.0, np.sqrt(self.start_variance), 2), np.zeros(2))

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        return states[:, 1:3].copy()

    def advance(self, states: Array, actions: Array) -> Array:
        after = states.copy()
        after[:, 1:3] += np.clip(actions, -self.action_limit, self.action_limit)
        return after

    def distance(self, states: Array) -> Array:
        """Distance to the nearer goal, (n,)."""
        return np.hypot(np.abs(states[:, 1]) - self.goal_x, states[:, 2])

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        moved = after[:, 1:3] - before[:, 1:3]
        return -self.action_cost * np.square(moved).sum(axis=1) - np.square(self.distance(before))

    def marks(self, states: Array) -> dict[str, Bools]:
        """Which goal a member is at."""
        at_goal, right = self.distance(states) < self.goal_radius, states[:, 1] > 0
        return {"goal_left": at_goal & ~right, "goal_right": at_goal & right}

    def reached(self, states: Array) -> Bools | None:
        return self.distance(states) < self.goal_radius


class MultiGoalEnv(TaskEnv):
    task_type = MultiGoal


class MultiGoalVectorEnv(TaskVectorEnv):
    task_type = MultiGoal
