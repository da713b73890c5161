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

from bges.checks import check_choice, check_whole

Array = NDArray[np.float64]
Plane = tuple[float, float]
Bools = NDArray[np.bool_]

ASSETS = Path(__file__).parent / "assets"
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

    def start_place(self) -> Plane:
        """Where in the plane episodes begin, noise apart."""
        return 0.0, 0.0

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
