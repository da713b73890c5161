"""Tasks with a trap in the way: a U of walls, and a goal behind it."""

import dataclasses
from typing import ClassVar

import mujoco
import numpy as np

from bges.checks import check_choice, check_positive
from bges.errors import InputError
from bges_envs.task import Array, Bools, Plane, Task

INTEGRATORS = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrapTask(Task):
    """A U-shaped trap across the x axis opens towards the start.

    The trap's end wall stands at x = `trap_x` and reaches `trap_half_width` to either side; its side walls reach
    back `2 * trap_half_length`.
    """

    trap: bool = True
    trap_x: float = 14.0
    trap_half_width: float = 2.0
    trap_half_length: float = 1.0
    wall_half_thickness: float = 0.3
    wall_half_height: float = 1.0
    integrator: str = "euler"

    body_radius: ClassVar[float] = 0.5
    observes_plane: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("integrator", self.integrator, INTEGRATORS)
        for name in ("trap_half_width", "trap_half_length", "wall_half_thickness", "wall_half_height"):
            check_positive(name, getattr(self, name))
        if self.trap and not self.body_radius < self.trap_x - 2 * self.trap_half_length:
            raise InputError(
                f"trap_x is {self.trap_x} and trap_half_length {self.trap_half_length}: the trap would cover the start"
            )

    def walls(self) -> list[tuple[Plane, Plane]]:
        if not self.trap:
            return []
        side_x, width, thickness = (
            self.trap_x - self.trap_half_length,
            self.trap_half_width,
            self.wall_half_thickness,
        )
        return [
            ((side_x, width), (self.trap_half_length, thickness)),
            ((side_x, -width), (self.trap_half_length, thickness)),
            ((self.trap_x, 0.0), (thickness, width)),
        ]

    def add_scene(self, spec: mujoco.MjSpec) -> None:
        """Add walls that stop the body and marks at goals that nothing touches; choose the integrator."""
        spec.option.integrator = INTEGRATORS[self.integrator]
        box, seen = mujoco.mjtGeom.mjGEOM_BOX, min(self.wall_half_height, 0.5)
        for i, (centre, half) in enumerate(self.walls()):
            # The wall that stops the body is as tall as it must be; the one that is drawn does not hide the scene.
            for name, height, touch, alpha in (
                ("wall", self.wall_half_height, 1, 0.0),
                ("seen_wall", seen, 0, 1.0),
            ):
                spec.worldbody.add_geom(
                    name=f"{name}{i}",
                    type=box,
                    pos=[*centre, height],
                    size=[*half, height],
                    contype=touch,
                    conaffinity=touch,
                    rgba=[0.75, 0.3, 0.2, alpha],
                )
        for centre, radius in self.goals():
            spec.worldbody.add_geom(
                name="goal",
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                pos=[*centre, 0.01],
                size=[radius, 0.01, 0],
                contype=0,
                conaffinity=0,
                rgba=[0.2, 0.65, 0.3, 0.8],
            )

    def past_wall(self, states: Array) -> Bools | None:
        return states[:, 1] > self.trap_x + self.wall_half_thickness + self.body_radius


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeceptiveTask(TrapTask):
    """Get to a goal on the x axis; the straight way leads into the trap. Reward: minus the distance, each step."""

    goal_x: float = 25.0
    goal_radius: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("goal_radius", self.goal_radius)

    def goals(self) -> list[tuple[Plane, float]]:
        return [((self.goal_x, 0.0), self.goal_radius)]

    def distance(self, states: Array) -> Array:
        """Distance to the goal in the plane, (n,)."""
        return np.hypot(states[:, 1] - self.goal_x, states[:, 2])

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        return -self.distance(after)

    def reached(self, states: Array) -> Bools | None:
        return self.distance(states) < self.goal_radius
