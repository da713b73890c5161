"""Gymnasium's ant among the walls of a trap, and sent round it to a goal."""

import dataclasses
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import gymnasium
import mujoco
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_choice, check_positive
from bges.errors import InputError
from bges_envs.environment import TaskEnv
from bges_envs.task import CHARGES, Array, Bools
from bges_envs.trap import DeceptiveTask, TrapTask
from bges_envs.vector import TaskVectorEnv

ANT = Path(gymnasium.__file__).parent / "envs/mujoco/assets/ant.xml"
# A contact sensor that gives one net force, its torque about the contacts' centroid, and that centroid.
FORCE_TORQUE_POSITION, NET_FORCE = 22, 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quadruped(TrapTask):
    """Eight actions in [-1, 1]; 113 observations: 15 positions, 14 velocities, and 14 bodies' contact wrenches.

    `actuation`: "servo" aims each joint at a place in its range (action -1 to 1), by a spring `servo_stiffness`, a
    damper `servo_damping` and at most `servo_force`; "torque" is Ant's own motors, of `torque_gear`. `fall_rule` ends
    an episode when the torso is overturned or its height leaves `healthy_z`. `observe_contacts` can be left out (29
    observations) and `observe_time` appends the seconds since the start, for policies with a clock.
    """

    wall_half_height: float = 10.0
    actuation: str = "servo"
    servo_stiffness: float = 400.0
    servo_damping: float = 30.0
    servo_force: float = 150.0
    torque_gear: float = 150.0
    fall_rule: bool = True
    healthy_z: tuple[float, float] = (0.2, 1.2)
    start_noise: float = 0.1
    observe_contacts: bool = True
    observe_time: bool = False
    contact_limit: float = 1.0

    frame_skip: ClassVar[int] = 5
    body_radius: ClassVar[float] = 0.25
    can_fall: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("actuation", self.actuation, ("servo", "torque"))
        for name in ("servo_stiffness", "servo_damping", "servo_force", "torque_gear", "contact_limit"):
            check_positive(name, getattr(self, name))
        check_positive("start_noise", self.start_noise, zero=True)
        low, high = self.healthy_z
        if not low < high:
            raise InputError(f"healthy_z is {self.healthy_z}, expected (low, high) with low < high")

    def build(self) -> mujoco.MjSpec:
        spec = mujoco.MjSpec.from_file(str(ANT))
        self.add_scene(spec)
        if self.actuation == "servo":
            self._add_servos(spec)
        else:
            for actuator in spec.actuators:
                actuator.gear[0] = self.torque_gear
        if self.observe_contacts:
            _add_contact_sensors(spec)
        spec.texture("texplane").rgb1, spec.texture("texplane").rgb2 = [0.93, 0.94, 0.95], [0.85, 0.87, 0.9]
        spec.material("MatPlane").reflectance = spec.material("MatPlane").specular = 0.0
        spec.geom("floor").rgba = [1, 1, 1, 1]
        for geom in spec.body("torso").find_all("geom"):
            geom.rgba = [0.16, 0.42, 0.75, 1]
        spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.4] * 3, [0.2] * 3
        spec.lights[0].diffuse = [0.4] * 3
        camera = spec.worldbody.add_camera(name="overview", pos=[12.5, -17, 30], fovy=40)
        camera.alt.type, camera.alt.xyaxes = (
            mujoco.mjtOrientation.mjORIENTATION_XYAXES,
            [1, 0, 0, 0, 0.87, 0.49],
        )
        return spec

    def _add_servos(self, spec: mujoco.MjSpec) -> None:
        for actuator in spec.actuators:
            low, high = np.deg2rad(spec.joint(actuator.target).range)
            middle, half, stiffness = (low + high) / 2, (high - low) / 2, self.servo_stiffness
            actuator.gear[0] = 1.0
            actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            actuator.gainprm[0] = stiffness * half
            actuator.biasprm[:3] = stiffness * middle, -stiffness, -self.servo_damping
            actuator.forcelimited = True
            actuator.forcerange = -self.servo_force, self.servo_force

    @property
    def fixed_start(self) -> bool:
        return self.start_noise == 0

    @cached_property
    def _home(self) -> Array:
        return np.array(self.model.qpos0)

    def start(self, rng: np.random.Generator) -> Array:
        noise, nv = self.start_noise, self.model.nv
        if self.fixed_start:
            return self.first_state(self._home, np.zeros(nv))
        positions = self._home + rng.uniform(-noise, noise, self.model.nq)
        return self.first_state(positions, noise * rng.standard_normal(nv))

    def observe(self, states: Array, sensors: Array, steps: NDArray[np.int64]) -> Array:
        parts: list[Array] = [states[:, 1:]]
        if self.observe_contacts:
            wrenches = contact_wrenches(sensors).reshape(len(states), -1)
            parts.append(np.clip(wrenches, -self.contact_limit, self.contact_limit))
        if self.observe_time:
            parts.append(np.multiply(steps[:, None], self.step_seconds, dtype=np.float64))
        return np.concatenate(parts, axis=1)

    def fallen(self, states: Array) -> Bools | None:
        if not self.fall_rule:
            return None
        z, (low, high) = states[:, 3], self.healthy_z
        return (z < low) | (z > high) | (upward(states[:, 4:8]) < 0)

    def over_wall(self, states: Array) -> Bools | None:
        x, y, z = states[:, 1], states[:, 2], states[:, 3]
        thickness = self.wall_half_thickness
        front, back = self.trap_x - 2 * self.trap_half_length - thickness, self.trap_x + thickness
        inside = (x > front) & (x < back) & (np.abs(y) < self.trap_half_width + thickness)
        return inside & (z > 2 * self.wall_half_height)


def upward(quaternions: Array) -> Array:
    """The vertical part of the body's own z axis, (n,): 1 upright, negative overturned."""
    w, x, y, z = quaternions.T
    return (w * w - x * x - y * y + z * z) / (w * w + x * x + y * y + z * z)


def _add_contact_sensors(spec: mujoco.MjSpec) -> None:
    for i, body in enumerate(spec.bodies[1:], start=1):
        if not body.name:
            body.name = f"body{i}"
        spec.add_sensor(
            name=f"contact{i}",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=body.name,
            intprm=[FORCE_TORQUE_POSITION, NET_FORCE, 1],
        )
    spec.add_sensor(
        name="centre_of_mass",
        type=mujoco.mjtSensor.mjSENS_SUBTREECOM,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        objname=spec.bodies[1].name,
    )


def contact_wrenches(sensors: Array) -> Array:
    """MuJoCo's `cfrc_ext` (n, 14, 6) from the contact sensors: torque about the centre of mass, then force.

    The world's row is zero, as MuJoCo leaves it.
    """
    n = len(sensors)
    # One component of all bodies at a time, side by side in memory.
    parts = np.ascontiguousarray(sensors[:, :-3].reshape(n, -1, 9).transpose(2, 0, 1))
    force, arm = -parts[:3], parts[6:] - sensors[:, -3:].T[:, :, None]
    wrenches = np.zeros((n, parts.shape[2] + 1, 6))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        wrenches[:, 1:, i] = arm[j] * force[k] - arm[k] * force[j] - parts[3 + i]
        wrenches[:, 1:, 3 + i] = force[i]
    return wrenches


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeceptiveQuadruped(Quadruped, DeceptiveTask):
    """A quadruped that must go round the trap to a goal.

    Every step not taken after a fall is charged by `fall_charge`: "start_distance", "fall_distance" or "none".
    """

    horizon: int = 400
    fall_charge: str = "start_distance"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("fall_charge", self.fall_charge, CHARGES)

    def charge(self) -> str:
        return self.fall_charge


class DeceptiveQuadrupedEnv(TaskEnv):
    task_type = DeceptiveQuadruped


class DeceptiveQuadrupedVectorEnv(TaskVectorEnv):
    task_type = DeceptiveQuadruped
