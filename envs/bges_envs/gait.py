"""What makes walking easy to learn for the quadruped: features with a clock and the way to the goal, and a reflex."""

from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_positive
from bges.errors import InputError
from bges.policies import FeatureLinear, Float32, Layer

NAMES = (
    "one",
    "sin",
    "cos",
    "goal_side",
    "goal_side_sin",
    "goal_side_cos",
    "tilt_forward",
    "tilt_side",
    "speed_forward",
    "speed_side",
    "turn_rate",
    "x",
    "y",
)


def gait_features(observations: NDArray[Any], *, frequency: float = 1.5, goal_x: float = 25.0) -> NDArray[np.float64]:
    """Features (n, 13), named by `NAMES`, of observations (n, o) that begin with Ant's 29 and end with the time.

    Directions are in the body's yaw frame. The clock's swing shrinks within 2 m of the goal, so that the gait stops
    there.
    """
    time = observations[:, -1]
    x, y = observations[:, 0], observations[:, 1]
    w, a, b, c = observations[:, 3:7].T
    # A zero quaternion (an empty observation) stands for upright.
    norm = np.maximum(w * w + a * a + b * b + c * c, 1e-12)
    forward_x, forward_y = 1 - 2 * (b * b + c * c) / norm, 2 * (a * b + w * c) / norm
    length = np.maximum(np.hypot(forward_x, forward_y), 1e-12)
    forward_x, forward_y = forward_x / length, forward_y / length
    up_x, up_y = 2 * (a * c + w * b) / norm, 2 * (b * c - w * a) / norm
    goal_dx, goal_dy = goal_x - x, -y
    distance = np.hypot(goal_dx, goal_dy)
    side = (forward_x * goal_dy - forward_y * goal_dx) / np.maximum(distance, 1e-6)
    swing = np.minimum(distance, 2.0) / 2
    sine, cosine = swing * np.sin(2 * np.pi * frequency * time), swing * np.cos(2 * np.pi * frequency * time)
    speed_x, speed_y = observations[:, 15], observations[:, 16]
    return np.stack(
        [
            np.ones_like(x),
            sine,
            cosine,
            side,
            side * sine,
            side * cosine,
            forward_x * up_x + forward_y * up_y,
            forward_x * up_y - forward_y * up_x,
            (forward_x * speed_x + forward_y * speed_y) / 2,
            (forward_x * speed_y - forward_y * speed_x) / 2,
            observations[:, 20] / 2,
            x / 25,
            y / 5,
        ],
        axis=1,
    )


# Where Ant's observation has the joint that each of its motors drives, its angle and its velocity.
JOINTS = np.array([6, 7, 0, 1, 2, 3, 4, 5])
ANGLES, VELOCITIES = 7 + JOINTS, 21 + JOINTS
# Ant's 29 positions and velocities, or all 113 of its observations, and the time.
SHAPES = ((30,), (114,))
MIDDLES = np.deg2rad([0, 50, 0, 50, 0, -50, 0, -50])


class ReflexGait(FeatureLinear):
    """Torques from a linear map of `gait_features` and a fixed reflex that pulls each joint to the middle of its range.

    Each action loses `stiffness` times its joint's angle (from the middle, in radians) and `damping` times its
    velocity. What the linear map adds then works like a servo's target, though all that leaves are torques. Made for
    observations as they are, with the time: not to be used with normalize_observations.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        stiffness: float = 0.7,
        damping: float = 0.1,
        frequency: float = 1.5,
        squash: str = "clip",
    ) -> None:
        if observation_space.shape not in SHAPES:
            raise InputError(f"ReflexGait sees {observation_space.shape}, expected a quadruped with observe_time: true")
        features = partial(gait_features, frequency=frequency)
        super().__init__(observation_space, action_space, features=features, squash=squash)
        self._stiffness = check_positive("stiffness", stiffness, zero=True)
        self._damping = check_positive("damping", damping, zero=True)
        self._learned = self.input_size
        self.input_size += 2 * len(JOINTS)

    @property
    def num_parameters(self) -> int:
        return self._learned * self.actions.output_size

    def inputs(self, observations: NDArray[Any]) -> NDArray[Any]:
        angles = observations[:, ANGLES] - MIDDLES
        return np.concatenate([super().inputs(observations), angles, observations[:, VELOCITIES]], axis=1)

    def layers(self, thetas: Float32) -> list[Layer]:
        motors = self.actions.output_size
        weights = np.empty((len(thetas), self.input_size, motors), np.float32)
        weights[:, : self._learned] = thetas.reshape(len(thetas), self._learned, motors)
        weights[:, self._learned :] = -np.concatenate(
            [self._stiffness * np.eye(motors), self._damping * np.eye(motors)]
        )
        return [(weights, None)]
