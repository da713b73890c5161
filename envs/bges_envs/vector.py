"""A task as a native vector environment: all members stepped by one call."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bges.checks import check_whole
from bges.errors import InputError
from bges_envs.episodes import Episodes
from bges_envs.physics import make_physics
from bges_envs.rendering import Renderer, check_render_mode
from bges_envs.task import Array, Task


class TaskVectorEnv(VectorEnv[Any, Any, Any]):
    """`num_envs` members, each with its own seed and episode.

    `autoreset_mode` is Gymnasium's: "NextStep" begins a finished member anew at its next step; "Disabled" leaves it
    where it ended, without stepping its physics, until `reset(options={"reset_mask": ...})`.
    """

    task_type: ClassVar[type[Task]]
    # Rollouts rely on it: a seed for each member, and finished members that stay still when they are not reset.
    member_seeds: ClassVar[bool] = True

    def __init__(
        self,
        num_envs: int = 1,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: Any,
    ) -> None:
        self.num_envs = check_whole("num_envs", num_envs)
        self.render_mode = check_render_mode(render_mode)
        self._mode = AutoresetMode(autoreset_mode)
        if self._mode == AutoresetMode.SAME_STEP:
            raise InputError("autoreset_mode is SameStep, expected NextStep or Disabled")
        self.task = self.task_type.from_settings(**settings)
        self.horizon = self.task.horizon
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": round(1 / self.task.step_seconds),
            "autoreset_mode": self._mode,
        }
        self.single_observation_space, self.single_action_space = (
            self.task.observation_space,
            self.task.action_space,
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._episodes = Episodes(self.task, num_envs, make_physics(self.task, num_envs))
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._fixed_start = self.task.start(np.random.default_rng(0)) if self.task.fixed_start else None
        self._everyone = np.ones(num_envs, np.bool_)
        self._renderer = Renderer(self.task, width, height)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        seeds = [None] * self.num_envs if seed is None else seed
        if isinstance(seeds, int | np.integer):
            seeds = [int(seeds) + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise InputError(f"seed has {len(seeds)} entries, expected one for each of {self.num_envs} environments")
        members = range(self.num_envs)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        for member, one in zip(members, seeds, strict=True):
            if one is not None and not self.task.fixed_start:
                self._generators[member] = np_random(one)[0]
        self._begin(np.flatnonzero(mask))
        return self._episodes.observe(), self._info()

    def step(self, actions: Any) -> tuple[Array, Any, Any, Any, dict[str, Any]]:
        finished = self._episodes.done.copy()
        rewards, terminated, truncated = self._episodes.step(actions)
        if self._mode == AutoresetMode.NEXT_STEP and finished.any():
            self._begin(np.flatnonzero(finished))
        return self._episodes.observe(), rewards, terminated, truncated, self._info()

    def _begin(self, members: NDArray[np.intp]) -> None:
        for member in members:
            state = self._fixed_start
            if state is None:
                state = self.task.start(self._generator(member))
            self._episodes.reset(member, state)

    def _generator(self, member: int) -> np.random.Generator:
        generator = self._generators[member]
        if generator is None:
            generator = self._generators[member] = np_random(None)[0]
        return generator

    def _info(self) -> dict[str, Any]:
        info = dict(self._episodes.info())
        return info | {f"_{name}": self._everyone for name in info}

    def render(self) -> tuple[Any, ...] | None:
        return tuple(self._renderer.frame(state) for state in self._episodes.states) if self.render_mode else None

    def close_extras(self, **kwargs: Any) -> None:
        self._renderer.close()
