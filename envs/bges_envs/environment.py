"""A task as a single Gymnasium environment."""

from typing import Any, ClassVar

import gymnasium
import numpy as np

from bges_envs.episodes import Episodes
from bges_envs.physics import make_physics
from bges_envs.rendering import Renderer, check_render_mode
from bges_envs.task import Array, Task


class TaskEnv(gymnasium.Env[Any, Any]):
    """One member; `settings` are the fields of the task's class."""

    task_type: ClassVar[type[Task]]
    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, width: int = 640, height: int = 480, **settings: Any) -> None:
        self.render_mode = check_render_mode(render_mode)
        self.task = self.task_type.from_settings(**settings)
        self.metadata = {**self.metadata, "render_fps": round(1 / self.task.step_seconds)}
        self.observation_space, self.action_space = self.task.observation_space, self.task.action_space
        self._episodes = Episodes(self.task, 1, make_physics(self.task))
        self._renderer = Renderer(self.task, width, height)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self._episodes.reset(0, self.task.start(self.np_random))
        return self._episodes.observe()[0], self._info()

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        reward, terminated, truncated = self._episodes.step(np.asarray(action)[None])
        return (
            self._episodes.observe()[0],
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            self._info(),
        )

    def _info(self) -> dict[str, Any]:
        return {name: values[0].item() for name, values in self._episodes.info().items()}

    def render(self) -> Any:
        return self._renderer.frame(self._episodes.states[0]) if self.render_mode else None

    def close(self) -> None:
        self._renderer.close()
