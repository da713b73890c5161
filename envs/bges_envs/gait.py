"""Features of the quadruped's observation that make walking easy to learn: a clock and the way to the goal."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
