"""Mazes of Gymnasium-Robotics for policies that see one vector: `env.id: "bges_envs.robotics:GoalMaze"`."""

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import FlattenObservation

from bges.checks import check_choice
from bges.errors import InputError
from bges.plugins import from_extra


class GoalMaze(gymnasium.Wrapper[Any, Any, Any, Any]):
    """`task` is a PointMaze or an AntMaze by its name without version, as in PointMaze_UMaze; rewards are dense.

    The observation is the position, the goal's, and what the body observes. `start` and `goal` are cells of the maze,
    (row, column); where they are left out each episode draws its own, as the original does.
    """

    def __init__(self, task: str, start: Sequence[int] | None = None, goal: Sequence[int] | None = None) -> None:
        # On import it prints advice on tasks that are not these.
        with from_extra("robotics", f"task {task}", "gymnasium_robotics"), contextlib.redirect_stderr(io.StringIO()):
            import gymnasium_robotics
        gymnasium.register_envs(gymnasium_robotics)
        newest = _newest_dense()
        # The checker tells a developer about an environment's first step; here it would cost a tenth of all.
        inner = gymnasium.make(newest[check_choice("task", task, newest)], disable_env_checker=True)
        super().__init__(FlattenObservation(inner))
        cells: list[list[Any]] = inner.unwrapped.maze.maze_map  # type: ignore[attr-defined]
        free = [(i, j) for i, row in enumerate(cells) for j, cell in enumerate(row) if cell != 1]
        for name, place in (("start", start), ("goal", goal)):
            if place is not None and tuple(place) not in free:
                raise InputError(f"{name} is {place}, expected a free cell (row, column) of {task}: {free}")
        self._cells = {"reset_cell": start, "goal_cell": goal}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        cells = {name: np.array(cell) for name, cell in self._cells.items() if cell is not None}
        return self.env.reset(seed=seed, options=cells | (options or {}) or None)


def _newest_dense() -> dict[str, str]:
    """The id of the newest version of each maze with dense rewards, by its name."""
    newest: dict[str, tuple[int, str]] = {}
    for name, spec in gymnasium.registry.items():
        if spec.name.startswith(("PointMaze_", "AntMaze_")) and spec.name.endswith("Dense"):
            task = spec.name.removesuffix("Dense")
            newest[task] = max(newest.get(task, (0, "")), (spec.version or 0, name))
    return {task: name for task, (_, name) in newest.items()}
