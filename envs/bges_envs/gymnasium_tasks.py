"""Gymnasium's own MuJoCo tasks, all members stepped at once.

Only those whose observation, reward and end follow from the states before and after a step. What Ant, Humanoid, Pusher,
Reacher and the double pendulum read besides is left over from inside MuJoCo's last step, out of reach of a batched one.
"""

import dataclasses
import warnings
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.mujoco import half_cheetah_v5, hopper_v5, inverted_pendulum_v5, swimmer_v5, walker2d_v5
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from bges_envs.task import Array, Bools, Task
from bges_envs.vector import TaskVectorEnv

MODELS = Path(gymnasium.__file__).parent / "envs/mujoco/assets"
Range = tuple[float, float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GymnasiumTask(Task):
    """A task of Gymnasium's, with its arguments, their defaults, and the starts that its seeds give."""

    horizon: int = 1000
    reset_noise_scale: float = 0.1

    xml: ClassVar[str]
    normal_velocities: ClassVar[bool] = False
    camera: ClassVar[str | None] = "track"

    def build(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_file(str(MODELS / self.xml))

    def compile(self) -> mujoco.MjModel:
        with warnings.catch_warnings():
            # Gymnasium's files use attributes that MuJoCo is about to drop, which no user can change.
            warnings.simplefilter("ignore")
            return super().compile()

    def start(self, rng: np.random.Generator) -> Array:
        noise, model = self.reset_noise_scale, self.model
        positions = model.qpos0 + rng.uniform(-noise, noise, model.nq)
        if self.normal_velocities:
            return self.first_state(positions, noise * rng.standard_normal(model.nv))
        return self.first_state(positions, rng.uniform(-noise, noise, model.nv))

    def idle_reward(self, states: Array) -> Array:
        # A survival bonus for steps that were not taken would make divergence pay.
        return np.zeros(len(states))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Locomotion(GymnasiumTask):
    """Forward speed pays, control costs; the position in the world is not seen unless asked for."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    exclude_current_positions_from_observation: bool = True

    # How many of the first positions say where in the world the body is.
    world_positions: ClassVar[int] = 1

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        hidden = self.world_positions if self.exclude_current_positions_from_observation else 0
        return states[:, 1 + hidden :].copy()

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        speed = (after[:, 1] - before[:, 1]) / self.step_seconds
        cost = self.ctrl_cost_weight * np.square(actions).sum(axis=1)
        return self.forward_reward_weight * speed - cost


@dataclasses.dataclass(frozen=True, kw_only=True)
class HalfCheetah(Locomotion):
    ctrl_cost_weight: float = 0.1

    xml: ClassVar[str] = "half_cheetah.xml"
    frame_skip: ClassVar[int] = 5
    normal_velocities: ClassVar[bool] = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Swimmer(Locomotion):
    ctrl_cost_weight: float = 1e-4

    xml: ClassVar[str] = "swimmer.xml"
    frame_skip: ClassVar[int] = 4
    world_positions: ClassVar[int] = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walker2d(Locomotion):
    """Health pays, too: height and lean within their ranges. Velocities are seen up to 10."""

    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: Range = (0.8, 2.0)
    healthy_angle_range: Range = (-1.0, 1.0)
    reset_noise_scale: float = 5e-3

    xml: ClassVar[str] = "walker2d_v5.xml"
    frame_skip: ClassVar[int] = 4
    can_fall: ClassVar[bool] = True

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        seen = super().observe(states, sensors, steps)
        velocities = seen[:, -self.model.nv :]
        np.clip(velocities, -10, 10, out=velocities)
        return seen

    def healthy(self, states: Array) -> Bools:
        return within(states[:, 2], self.healthy_z_range) & within(states[:, 3], self.healthy_angle_range)

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        return super().reward(before, actions, after) + self.healthy_reward * self.healthy(after)

    def fallen(self, states: Array) -> Bools | None:
        return ~self.healthy(states) if self.terminate_when_unhealthy else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hopper(Walker2d):
    healthy_state_range: Range = (-100.0, 100.0)
    healthy_z_range: Range = (0.7, float("inf"))
    healthy_angle_range: Range = (-0.2, 0.2)

    xml: ClassVar[str] = "hopper.xml"

    def healthy(self, states: Array) -> Bools:
        return super().healthy(states) & within(states[:, 3:], self.healthy_state_range).all(axis=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class InvertedPendulum(GymnasiumTask):
    """One for every step in which the pole leans by no more than 0.2."""

    reset_noise_scale: float = 0.01

    xml: ClassVar[str] = "inverted_pendulum.xml"
    frame_skip: ClassVar[int] = 2
    can_fall: ClassVar[bool] = True
    camera: ClassVar[str | None] = None

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        return states[:, 1:].copy()

    def reward(self, before: Array, actions: Array, after: Array) -> Array:
        return (np.abs(after[:, 2]) <= 0.2).astype(np.float64)

    def fallen(self, states: Array) -> Bools | None:
        return np.abs(states[:, 2]) > 0.2


def within(values: Array, limits: Range) -> Bools:
    low, high = limits
    return (low < values) & (values < high)


class HalfCheetahVectorEnv(TaskVectorEnv):
    task_type = HalfCheetah


class SwimmerVectorEnv(TaskVectorEnv):
    task_type = Swimmer


class Walker2dVectorEnv(TaskVectorEnv):
    task_type = Walker2d


class HopperVectorEnv(TaskVectorEnv):
    task_type = Hopper


class InvertedPendulumVectorEnv(TaskVectorEnv):
    task_type = InvertedPendulum


BATCHED: dict[Any, type[TaskVectorEnv]] = {
    half_cheetah_v5.HalfCheetahEnv: HalfCheetahVectorEnv,
    swimmer_v5.SwimmerEnv: SwimmerVectorEnv,
    walker2d_v5.Walker2dEnv: Walker2dVectorEnv,
    hopper_v5.HopperEnv: HopperVectorEnv,
    inverted_pendulum_v5.InvertedPendulumEnv: InvertedPendulumVectorEnv,
}


def make_batched(
    spec: EnvSpec, num_envs: int, *, horizon: int | None = None, kwargs: dict[str, Any]
) -> TaskVectorEnv | None:
    """The batched version of a specification; None where there is none that knows all its arguments."""
    batched, limit = BATCHED.get(spec.entry_point), horizon or spec.max_episode_steps
    if batched is None or limit is None or spec.additional_wrappers:
        return None
    settings = {**spec.kwargs, **kwargs}
    known = {field.name for field in dataclasses.fields(batched.task_type)} - {"horizon"}
    if not known.issuperset(settings):
        return None
    env = batched(num_envs, autoreset_mode=AutoresetMode.DISABLED, horizon=limit, **settings)
    env.spec = dataclasses.replace(spec, max_episode_steps=limit, kwargs=settings)
    return env
