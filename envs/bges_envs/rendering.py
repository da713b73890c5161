"""Pictures of a state, off-screen."""

import importlib
import os
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from bges.checks import check_whole
from bges.errors import InputError
from bges_envs.task import STATE, Array, Task

BACKENDS = ("egl", "osmesa")


def check_render_mode(mode: str | None) -> str | None:
    if mode not in (None, "rgb_array"):
        raise InputError(f"render_mode is {mode!r}, expected 'rgb_array' or None")
    return mode


class Renderer:
    """Draws states of a task; OpenGL is first touched by the first frame."""

    def __init__(self, task: Task, width: int, height: int) -> None:
        self._task = task
        self._width, self._height = check_whole("width", width), check_whole("height", height)
        self._context: Any = None

    def frame(self, state: Array) -> NDArray[np.uint8]:
        """A (height, width, 3) picture."""
        model = self._task.model
        if self._context is None:
            self._open(model)
        self._context.make_current()
        mujoco.mj_setState(model, self._data, state, STATE)
        mujoco.mj_forward(model, self._data)
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(model, self._data, self._options, None, self._camera, everything, self._scene)
        area = mujoco.MjrRect(0, 0, self._width, self._height)
        mujoco.mjr_render(area, self._scene, self._resources)
        pixels = np.empty((self._height, self._width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, area, self._resources)
        return np.flipud(pixels).copy()

    def _open(self, model: mujoco.MjModel) -> None:
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, self._width)
        model.vis.global_.offheight = max(model.vis.global_.offheight, self._height)
        self._context = _gl_context(self._width, self._height)
        self._context.make_current()
        self._data = mujoco.MjData(model)
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._resources = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(model, self._camera)
        if self._task.camera is not None:
            self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
            self._camera.fixedcamid = model.camera(self._task.camera).id

    def close(self) -> None:
        if self._context is not None:
            self._resources.free()
            self._context.free()
            self._context = None


def find_backend() -> str:
    """The name of the off-screen OpenGL that works here."""
    context = _gl_context(16, 16)
    context.free()
    return type(context).__module__.rpartition(".")[2]


def _gl_context(width: int, height: int) -> Any:
    """The first off-screen OpenGL that works; MUJOCO_GL, when set, decides."""
    chosen = os.environ.get("MUJOCO_GL", "").lower()
    failures = []
    for backend in (chosen,) if chosen in BACKENDS else BACKENDS:
        # Both bind PyOpenGL to their platform on import, so a failed attempt is undone before the next.
        before = os.environ.get("PYOPENGL_PLATFORM")
        try:
            return importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
        except (ImportError, RuntimeError, AttributeError, OSError) as error:
            failures.append(f"{backend}: {error}")
            if before is None:
                os.environ.pop("PYOPENGL_PLATFORM", None)
    raise InputError(
        "rendering needs off-screen OpenGL; on Debian and Ubuntu: apt-get install libegl1 libgl1-mesa-dri "
        f"(or libosmesa6). Tried {'; '.join(failures)}"
    )
