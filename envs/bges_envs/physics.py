"""One control step of the physics: natively for many members, or on a single data object."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

import mujoco
import mujoco.rollout
import numpy as np

from bges_envs.task import STATE, Array, Bools, Task


class Physics(Protocol):
    def advance(self, states: Array, actions: Array) -> tuple[Array, Array, Bools]:
        """Next states (k, s), their sensors (k, m) and whether the physics stayed sound (k,)."""


def make_physics(task: Task, size: int | None = None) -> Physics:
    """The physics of `size` members of a task, or of a single environment."""
    if task.kinematic:
        return KinematicPhysics(task)
    return SinglePhysics(task) if size is None else BatchedPhysics(task, size)


class KinematicPhysics:
    """Tasks that say themselves where an action leads."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def advance(self, states: Array, actions: Array) -> tuple[Array, Array, Bools]:
        after = self._task.advance(states, actions)
        return after, np.zeros((len(after), 0)), np.ones(len(after), np.bool_)


class BatchedPhysics:
    """Up to `size` members stepped by one call of `mujoco.rollout`."""

    def __init__(self, task: Task, size: int) -> None:
        model, skip = task.model, task.frame_skip
        self._skip = skip
        self._models = [model] * size
        self._data = [mujoco.MjData(model)]
        self._rollout = mujoco.rollout.Rollout(nthread=0)
        self._controls = np.empty((size, skip, model.nu))
        self._states = np.empty((size, skip, mujoco.mj_stateSize(model, STATE)))
        self._sensors = np.empty((size, skip, model.nsensordata))
        self._seconds = task.step_seconds

    def advance(self, states: Array, actions: Array) -> tuple[Array, Array, Bools]:
        k = len(states)
        self._controls[:k] = actions[:, None, :]
        with _quiet():
            self._rollout.rollout(
                self._models[:k],
                self._data,
                states,
                self._controls[:k],
                nstep=self._skip,
                state=self._states[:k],
                sensordata=self._sensors[:k],
                skip_checks=True,
            )
        after = self._states[:k, -1].copy()
        sound = np.abs(after[:, 0] - states[:, 0] - self._seconds) < 1e-6
        return after, self._sensors[:k, -1].copy(), sound


class SinglePhysics:
    """One member stepped by `mj_step`, the way a plain Gymnasium environment does it."""

    def __init__(self, task: Task) -> None:
        self._model, self._skip, self._seconds = task.model, task.frame_skip, task.step_seconds
        self._data = mujoco.MjData(self._model)

    def advance(self, states: Array, actions: Array) -> tuple[Array, Array, Bools]:
        model, data = self._model, self._data
        mujoco.mj_setState(model, data, states[0], STATE)
        # The solver's warm start is no part of the state: without it a step depends on state and action alone.
        data.qacc_warmstart[:] = 0.0
        data.ctrl[:] = actions[0]
        with _quiet():
            mujoco.mj_step(model, data, self._skip)
        after = np.empty((1, states.shape[1]))
        mujoco.mj_getState(model, data, after[0], STATE)
        sound = np.abs(after[:, 0] - states[:, 0] - self._seconds) < 1e-6
        return after, data.sensordata[None].copy(), sound


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither warnings nor timing.

    MuJoCo's warnings go to a log file in the working directory; here divergence is detected and flagged instead. Its
    profiler reads the clock 28 times in every evaluation of the dynamics, a tenth to a quarter of a small model's step.
    """
    mujoco.set_mju_user_warning(lambda message: None)
    clock = _clock() if mujoco.get_mjcb_time() is None else None
    if clock is not None:
        clock.value = None
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)
        if clock is not None:
            # The bindings answer None by putting their own clock back.
            mujoco.set_mjcb_time(None)


@cache
def _clock() -> ctypes.c_void_p | None:
    """MuJoCo's pointer to its profiler's clock, which the bindings can replace but not take away."""
    library = next(Path(mujoco.__file__).parent.glob("libmujoco*"), None)
    return None if library is None else ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "mjcb_time")
