"""A point mass that must go round a trap."""

import dataclasses
from typing import ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_positive
from bges_envs.environment import TaskEnv
from bges_envs.task import ASSETS, Array
from bges_envs.trap import DeceptiveTask
from bges_envs.vector import TaskVectorEnv


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeceptivePoint(DeceptiveTask):
    """A ball on the plane with thrust along x and y; 6 observations: x, y, heading and their velocities."""

    horizon: int = 50
    start_noise: float = 0.0

    frame_skip: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("start_noise", self.start_noise, zero=True)

    def build(self) -> mujoco.MjSpec:
        spec = mujoco.MjSpec.from_file(str(ASSETS / "point.xml"))
        self.add_scene(spec)
        return spec

    @property
    def fixed_start(self) -> bool:
        return self.start_noise == 0

    def start(self, rng: np.random.Generator) -> Array:
        positions = np.zeros(3)
        if not self.fixed_start:
            positions[:2] = rng.normal(0.0, self.start_noise, 2)
        return self.first_state(positions, np.zeros(3))

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        return states[:, 1:].copy()


class DeceptivePointEnv(TaskEnv):
    task_type = DeceptivePoint


class DeceptivePointVectorEnv(TaskVectorEnv):
    task_type = DeceptivePoint
