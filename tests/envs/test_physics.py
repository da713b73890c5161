"""What stepping a batch leaves behind in MuJoCo's global settings."""

import mujoco
import numpy as np
import pytest

from bges_envs.physics import make_physics
from bges_envs.point import DeceptivePoint


@pytest.mark.parametrize("size", [None, 3])
def test_mujocos_clock_stands_still_in_a_step_and_runs_on_after_it(size):
    task = DeceptivePoint()
    physics = make_physics(task, size)
    states = np.tile(task.start(np.random.default_rng(0)), (size or 1, 1))
    own = physics._data if size is None else physics._data[0]
    physics.advance(states, np.ones((len(states), 2)))
    assert own.timer[mujoco.mjtTimer.mjTIMER_STEP].duration == 0
    data = mujoco.MjData(task.model)
    mujoco.mj_step(task.model, data)
    assert data.timer[mujoco.mjtTimer.mjTIMER_STEP].duration > 0


def test_a_clock_of_ones_own_is_left_alone():
    task = DeceptivePoint()
    physics = make_physics(task)
    read = []
    try:
        mujoco.set_mjcb_time(lambda: float(len(read)) if read.append(0) is None else 0.0)
        clock = mujoco.get_mjcb_time()
        physics.advance(task.start(np.random.default_rng(0))[None], np.ones((1, 2)))
        assert read
        assert mujoco.get_mjcb_time() is clock
    finally:
        mujoco.set_mjcb_time(None)
