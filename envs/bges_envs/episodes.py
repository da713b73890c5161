"""Episodes of n members: the one place where steps, ends, charges and flags are decided."""

import numpy as np
from numpy.typing import NDArray

from bges.checks import check_array
from bges_envs.physics import Physics
from bges_envs.task import Array, Bools, Task

Info = dict[str, NDArray[np.generic]]


class Episodes:
    """State of n members of a task; a finished member stays where it is and costs nothing until it is reset."""

    def __init__(self, task: Task, size: int, physics: Physics) -> None:
        self.task, self.size, self._physics = task, size, physics
        first = task.start(np.random.default_rng(0))
        self.states = np.tile(first, (size, 1))
        self.sensors = np.zeros((size, task.model.nsensordata))
        self.steps = np.zeros(size, np.int64)
        self.done = np.ones(size, np.bool_)
        self._start_rewards = np.zeros(size)
        self._has_goal = task.reached(self.states) is not None
        self._reached = np.zeros(size, np.bool_)
        self._over = np.zeros(size, np.bool_)
        self._fallen = np.zeros(size, np.bool_)
        self._diverged = np.zeros(size, np.bool_)

    def reset(self, member: int, state: Array) -> None:
        """Begin a new episode of one member at `state`."""
        row = slice(member, member + 1)
        self.states[row] = state
        self.sensors[row] = 0.0
        self.steps[row] = 0
        self.done[row] = False
        self._start_rewards[row] = self.task.idle_reward(self.states[row])
        self._reached[row] = self._over[row] = self._fallen[row] = self._diverged[row] = False

    def observe(self) -> Array:
        return self.task.observe(self.states, self.sensors, self.steps)

    def step(self, actions: Array) -> tuple[Array, Bools, Bools]:
        """Rewards, terminated and truncated, each (n,); finished members get zeros and stay as they are."""
        actions = check_array("action", actions, (self.size, *self.task.action_space.shape))
        rewards = np.zeros(self.size)
        terminated = np.zeros(self.size, np.bool_)
        rows = np.flatnonzero(~self.done)
        if len(rows) == 0:
            return rewards, terminated, terminated.copy()
        everyone = len(rows) == self.size
        before = self.states if everyone else self.states[rows]
        taken = actions if everyone else actions[rows]
        after, sensors, sound = self._physics.advance(before, taken)
        if not sound.all():
            after[~sound], sensors[~sound] = before[~sound], 0.0
        reward, ended = self._judge(rows, before, taken, after, sound)
        self.states[rows], self.sensors[rows] = after, sensors
        self.steps[rows] += 1
        rewards[rows], terminated[rows] = reward, ended
        truncated = ~self.done & ~terminated & (self.steps >= self.task.horizon)
        self.done |= terminated | truncated
        return rewards, terminated, truncated

    def _judge(
        self, rows: NDArray[np.intp], before: Array, actions: Array, after: Array, sound: Bools
    ) -> tuple[Array, Bools]:
        task = self.task
        reward = task.reward(before, actions, after)
        ended = ~sound
        # Every step that is not taken, this one included.
        remaining = task.horizon - self.steps[rows]
        fallen = task.fallen(after)
        if fallen is not None:
            self._fallen[rows] |= fallen & sound
            ended |= fallen
            charge = task.charge()
            if charge != "none":
                each = reward if charge == "fall_distance" else self._start_rewards[rows]
                reward = np.where(fallen, each * remaining, reward)
        reward = np.where(sound, reward, self._start_rewards[rows] * remaining)
        self._diverged[rows] |= ~sound
        reached = task.reached(after)
        if reached is not None:
            self._reached[rows] |= reached & sound
        over = task.over_wall(after)
        if over is not None:
            self._over[rows] |= over
        return reward, ended

    def info(self) -> Info:
        """What is known of each member's episode so far, as (n,) arrays."""
        info: Info = {"success": self._reached.copy()} if self._has_goal else {}
        info["diverged"] = self._diverged.copy()
        past = self.task.past_wall(self.states)
        if past is not None:
            info["past_wall"] = past & ~self._over
        if self.task.can_fall:
            info["fallen"] = self._fallen.copy()
        return info | self.task.marks(self.states)
