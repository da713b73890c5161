"""What defines an environment, for any number of members at once."""

import dataclasses
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_choice, check_positive, check_whole
from bges.errors import InputError

Array = NDArray[np.float64]
Plane = tuple[float, float]
Bools = NDArray[np.bool_]

ASSETS = Path(__file__).parent / "assets"
INTEGRATORS = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
# MuJoCo answers a diverged state by a silent reset to time 0; a clock that starts elsewhere gives it away.
START_TIME = 1.0
CHARGES = ("none", "fall_distance", "start_distance")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One definition of model, start, observation, reward and end, shared by the single and the vector environment.

    States are MuJoCo's full physics state, rows of [time, positions, velocities]; every method takes n rows at once.
    """

    horizon: int

    frame_skip: ClassVar[int] = 1
    camera: ClassVar[str | None] = "overview"
    # Whether `advance` moves the task, instead of MuJoCo.
    kinematic: ClassVar[bool] = False
    can_fall: ClassVar[bool] = False
    # Whether the first two observations are the body's position in the plane.
    observes_plane: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, **settings: Any) -> Self:
        """Build the task, refusing unknown names with the nearest known one."""
        for name in settings:
            check_choice(f"argument of {cls.__name__}", name, [f.name for f in dataclasses.fields(cls)])
        return cls(**settings)

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon)

    @abstractmethod
    def build(self) -> mujoco.MjSpec:
        """The model, to be compiled once."""

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Array:
        """A first state."""

    @abstractmethod
    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        """Observations (n, o) of states (n, s), their sensors (n, k) and the number of steps taken (n,)."""

    @abstractmethod
    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        """Reward (n,) of a step that led from `before` to `after`."""

    def reached(self, states: Array) -> Bools | None:
        """Whether the goal is reached, (n,); None when there is no goal."""
        return None

    def fallen(self, states: Array) -> Bools | None:
        """Whether the episode ends here by the task's own rule, (n,); None when there is no such rule."""
        return None

    def charge(self) -> str:
        """What each step that an ended episode did not take is charged: one of `CHARGES`."""
        return "none"

    def idle_reward(self, states: Array) -> Array:
        """Reward (n,) of a step that stays at `states`: what a diverged episode is charged for each step not taken."""
        return self.reward(states, np.zeros((len(states), *self.action_space.shape)), states)

    def over_wall(self, states: Array) -> Bools | None:
        """Whether the body is above the trap, higher than its walls, (n,); None when there are none."""
        return None

    def past_wall(self, states: Array) -> Bools | None:
        """Whether the body is beyond the trap, (n,); None when there is none."""
        return None

    def marks(self, states: Array) -> dict[str, Bools]:
        """Whatever else is true or not of where members are, each (n,), to be told of their episodes' ends."""
        return {}

    def walls(self) -> list[tuple[Plane, Plane]]:
        """Centre and half-sizes in the plane of each wall."""
        return []

    def goals(self) -> list[tuple[Plane, float]]:
        """Centre in the plane and radius of each goal."""
        return []

    def advance(self, states: Array, actions: Array) -> Array:
        """The next states of a kinematic task."""
        raise AssertionError(f"{type(self).__name__} is moved by MuJoCo")

    @property
    def fixed_start(self) -> bool:
        """Whether `start` draws nothing from its generator."""
        return False

    def compile(self) -> mujoco.MjModel:
        model = self.build().compile()
        if model.ntree == 1:
            # One tree is one island of contacts: looking for more changes no bit and costs up to 8 %.
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        return model

    @cached_property
    def model(self) -> mujoco.MjModel:
        return self.compile()

    @cached_property
    def observation_space(self) -> gymnasium.spaces.Box:
        state = self.start(np.random.default_rng(0))[None]
        sensors = np.zeros((1, self.model.nsensordata))
        size = self.observe(state, sensors, np.zeros(1, np.int64)).shape[1]
        return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)

    @cached_property
    def action_space(self) -> gymnasium.spaces.Box:
        low, high = self.model.actuator_ctrlrange.T.astype(np.float32)
        return gymnasium.spaces.Box(low, high, dtype=np.float32)

    @property
    def step_seconds(self) -> float:
        return float(self.model.opt.timestep * self.frame_skip)

    def first_state(self, positions: Array, velocities: Array) -> Array:
        return np.concatenate([[START_TIME], positions, velocities])


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeceptiveTask(Task):
    """Get to a goal on the x axis; the straight way leads into a U-shaped trap that opens towards the start.

    The trap's end wall stands at x = `trap_x` and reaches `trap_half_width` to either side; its side walls reach
    back `2 * trap_half_length`. Reward: minus the distance to the goal, each step.
    """

    goal_x: float = 25.0
    goal_radius: float = 2.0
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
        for name in (
            "goal_radius",
            "trap_half_width",
            "trap_half_length",
            "wall_half_thickness",
            "wall_half_height",
        ):
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

    def goals(self) -> list[tuple[Plane, float]]:
        return [((self.goal_x, 0.0), self.goal_radius)]

    def add_scene(self, spec: mujoco.MjSpec) -> None:
        """Add walls that stop the body and a mark at the goal that nothing touches; choose the integrator."""
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
        spec.worldbody.add_geom(
            name="goal",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            pos=[self.goal_x, 0, 0.01],
            size=[self.goal_radius, 0.01, 0],
            contype=0,
            conaffinity=0,
            rgba=[0.2, 0.65, 0.3, 0.8],
        )

    def distance(self, states: Array) -> Array:
        """Distance to the goal in the plane, (n,)."""
        return np.hypot(states[:, 1] - self.goal_x, states[:, 2])

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        return -self.distance(after)

    def reached(self, states: Array) -> Bools | None:
        return self.distance(states) < self.goal_radius

    def past_wall(self, states: Array) -> Bools | None:
        return states[:, 1] > self.trap_x + self.wall_half_thickness + self.body_radius
