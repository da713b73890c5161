"""Point mazes by number, in which the straight way to the goal is a cul-de-sac."""

import dataclasses
from functools import cached_property
from typing import ClassVar

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_choice, check_positive, check_whole
from bges.errors import InputError
from bges_envs.boxes import Boxes
from bges_envs.environment import TaskEnv
from bges_envs.maze_layouts import BODY, DIFFICULTIES, GOAL_RADIUS, HALF_SIZE, SPEED, Layout, maze_layout
from bges_envs.task import ASSETS, Array, Bools, Plane, Task
from bges_envs.vector import TaskVectorEnv


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maze(Task):
    """A body that moves by its action, at most 0.2 a step on each axis, and slides along walls.

    Four observations: x and y, and the way from there to the goal. Reward: minus the distance to the goal, each step.
    `maze` is the number of the maze; `difficulty` its way round divided by the straight distance: "easy", "medium",
    "hard" or (least, most). `horizon` 0 stands for twice the steps of the shortest way round.
    """

    horizon: int = 0
    maze: int = 0
    difficulty: str | tuple[float, float] = "medium"
    start_noise: float = 0.0

    kinematic: ClassVar[bool] = True
    observes_plane: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("maze", self.maze, least=0)
        check_positive("start_noise", self.start_noise, zero=True)
        if self.horizon == 0:
            object.__setattr__(self, "horizon", self.layout.horizon)
        super().__post_init__()

    @cached_property
    def layout(self) -> Layout:
        limits = self.difficulty
        if isinstance(limits, str):
            limits = DIFFICULTIES[check_choice("difficulty", limits, DIFFICULTIES)]
        if len(limits) != 2 or not 1 < limits[0] < limits[1]:
            raise InputError(f"difficulty is {limits}, expected a name or (least, most) with 1 < least < most")
        return maze_layout(self.maze, *map(float, limits))

    @cached_property
    def barriers(self) -> Boxes:
        """Where the body's centre cannot be."""
        return self.layout.walls.grown(BODY)

    def start_place(self) -> Plane:
        x, y = self.layout.start.tolist()
        return x, y

    def walls(self) -> list[tuple[Plane, Plane]]:
        low, high = self.layout.walls.low, self.layout.walls.high
        boxes = zip(((low + high) / 2).tolist(), ((high - low) / 2).tolist(), strict=True)
        return [((x, y), (half_x, half_y)) for (x, y), (half_x, half_y) in boxes]

    def goals(self) -> list[tuple[Plane, float]]:
        x, y = self.layout.goal.tolist()
        return [((x, y), GOAL_RADIUS)]

    def build(self) -> mujoco.MjSpec:
        spec = mujoco.MjSpec.from_file(str(ASSETS / "multi_goal.xml"))
        spec.camera("overview").pos[2] = 3 * HALF_SIZE
        spec.geom("ball").size[0] = BODY
        for centre, half in self.walls():
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX, pos=[*centre, 0.1], size=[*half, 0.1], rgba=[0.75, 0.3, 0.2, 1]
            )
        for centre, radius in self.goals():
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                pos=[*centre, 0.01],
                size=[radius, 0.01, 0],
                rgba=[0.2, 0.65, 0.3, 0.8],
            )
        return spec

    @property
    def action_space(self) -> gymnasium.spaces.Box:
        return gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    @property
    def fixed_start(self) -> bool:
        return self.start_noise == 0

    def start(self, rng: np.random.Generator) -> Array:
        place = self.layout.start
        if not self.fixed_start:
            # Not through a wall.
            place = self.barriers.slide(place[None], rng.normal(0.0, self.start_noise, (1, 2)))[0]
        return self.first_state(place, np.zeros(2))

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        places = states[:, 1:3]
        return np.concatenate([places, self.layout.goal - places], axis=1)

    def advance(self, states: Array, actions: Array) -> Array:
        after = states.copy()
        after[:, 1:3] = self.barriers.slide(states[:, 1:3], SPEED * np.clip(actions, -1, 1))
        return after

    def distance(self, states: Array) -> Array:
        """Distance to the goal, (n,)."""
        x, y = self.layout.goal
        return np.hypot(states[:, 1] - x, states[:, 2] - y)

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        return -self.distance(after)

    def reached(self, states: Array) -> Bools | None:
        return self.distance(states) < GOAL_RADIUS


class MazeEnv(TaskEnv):
    task_type = Maze


class MazeVectorEnv(TaskVectorEnv):
    task_type = Maze
