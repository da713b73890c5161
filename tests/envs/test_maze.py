"""Mazes by number against a planner of their own: exact dynamic programming of the return, on a lattice."""

import gymnasium
import numpy as np
import pytest
from scipy.ndimage import label

import bges_envs  # noqa: F401
from bges.errors import InputError
from bges_envs.boxes import length
from bges_envs.maze import Maze
from bges_envs.maze_layouts import BODY, DEPTH, DIFFICULTIES, GOAL_RADIUS, SPEED, WORTH

TICK = SPEED / 2
MOVES = np.array([(i, j) for i in range(-2, 3) for j in range(-2, 3)])


class Lattice:
    """Places a tick apart, the start among them; what is free is found by looking at each wall."""

    def __init__(self, layout):
        self.layout, count = layout, int(4.0 / TICK) * 2
        self.ticks = np.arange(-count, count + 1) * TICK
        self.x, self.y = np.meshgrid(layout.start[0] + self.ticks, layout.start[1] + self.ticks, indexing="ij")
        self.free = np.ones(self.x.shape, bool)
        for (left, bottom), (right, top) in zip(layout.walls.low - BODY, layout.walls.high + BODY, strict=True):
            inside = (left < self.x) & (self.x < right) & (bottom < self.y) & (self.y < top)
            self.free &= ~inside
        self.distance = np.hypot(self.x - layout.goal[0], self.y - layout.goal[1])
        self.home = (count, count)

    def open_for(self, i, j):
        """Where the move (i, j) meets no wall on its way, which is along x first. Walls are wider than a tick."""
        clear, sign_i, sign_j = self.free.copy(), np.sign(i), np.sign(j)
        for step in range(1, abs(i) + 1):
            clear &= shifted(self.free, step * sign_i, 0, False)
        for step in range(1, abs(j) + 1):
            clear &= shifted(self.free, i, step * sign_j, False)
        return clear

    def plan(self, horizon):
        """The best return from the start, and the actions that earn it."""
        value = np.zeros(self.x.shape)
        clear = [self.open_for(i, j) for i, j in MOVES]
        choices = np.empty((horizon, *self.x.shape), np.int8)
        for t in reversed(range(horizon)):
            worth = value - self.distance
            options = [
                np.where(c, shifted(worth, i, j, -np.inf), -np.inf) for c, (i, j) in zip(clear, MOVES, strict=True)
            ]
            choices[t], value = np.argmax(options, axis=0), np.max(options, axis=0)
        place, actions = np.array(self.home), []
        for t in range(horizon):
            move = MOVES[choices[t][tuple(place)]]
            place = place + move
            actions.append(move / 2)
        return value[self.home], np.array(actions, np.float32)

    def cell(self, point):
        """The free place nearest to a point."""
        away = np.hypot(self.x - point[0], self.y - point[1])
        return np.unravel_index(np.where(self.free, away, np.inf).argmin(), away.shape)


def shifted(array, i, j, beyond):
    """`array[x + i, y + j]` at [x, y], and `beyond` outside."""
    result = np.full_like(array, beyond)
    a, b = array.shape
    here = np.s_[max(0, -i) : a - max(0, i), max(0, -j) : b - max(0, j)]
    there = np.s_[max(0, i) : a - max(0, -i), max(0, j) : b - max(0, -j)]
    result[here] = array[there]
    return result


def play(choose, **kwargs):
    """Return, places and last info of an episode; `choose(observation, t)` gives the action."""
    env = gymnasium.make("bges_envs:Maze-v0", **kwargs)
    observation, _ = env.reset(seed=0)
    total, places, over = 0.0, [observation[:2]], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(choose(observation, len(places) - 1))
        total, over = total + reward, terminated or truncated
        places.append(observation[:2])
        assert not terminated
    return total, np.array(places), info


def greedy(observation, t):
    """Straight towards the goal."""
    return (observation[2:] / max(np.abs(observation[2:]).max(), SPEED)).astype(np.float32)


# Some mazes for tuning of each kind, and all that results are reported on.
CASES = [
    *((d, numbers) for d in DIFFICULTIES for numbers in (range(0, 5), range(50, 55))),
    ("medium", range(1000, 1020)),
]


@pytest.mark.parametrize(("difficulty", "numbers"), CASES)
def test_greed_ends_in_a_cul_de_sac_and_the_best_return_is_at_the_goal(difficulty, numbers):
    least, most = DIFFICULTIES[difficulty]
    for number in numbers:
        kwargs = {"maze": number, "difficulty": difficulty}
        task = Maze(**kwargs)
        layout, lattice = task.layout, Lattice(task.layout)
        assert least <= length(layout.way) / np.linalg.norm(layout.goal - layout.start) <= most

        expected, actions = lattice.plan(task.horizon)
        planned, places, info = play(lambda _, t, actions=actions: actions[t], **kwargs)
        assert planned == pytest.approx(expected, rel=1e-6)
        assert info["success"]
        assert np.linalg.norm(places[-1] - layout.goal) < GOAL_RADIUS

        stuck, places, info = play(greedy, **kwargs)
        assert not info["success"]
        # It has hardly moved since long.
        np.testing.assert_allclose(places[-1], places[-20], atol=SPEED / 4)
        assert planned > WORTH * stuck

        # Whatever way leads on from there, it first leads away from the goal.
        away = np.linalg.norm(places[-1] - layout.goal)
        regions = label(lattice.free & (lattice.distance < away + DEPTH - TICK), np.ones((3, 3)))[0]
        assert regions[lattice.cell(places[-1])] > 0
        assert regions[lattice.cell(places[-1])] != regions[lattice.cell(layout.goal)]


def test_mazes_differ_and_a_number_is_always_the_same_maze():
    tasks = [Maze(maze=number) for number in range(20)]
    assert len({task.layout.start.tobytes() for task in tasks}) == 20
    assert len({len(task.walls()) for task in tasks}) > 4
    directions = {tuple(np.sign(task.layout.goal - task.layout.start)) for task in tasks}
    assert len(directions) == 4
    again = Maze(maze=3, difficulty=(2, 3))
    assert np.array_equal(again.layout.walls.low, tasks[3].layout.walls.low)
    assert not np.array_equal(Maze(maze=3, difficulty=[2.0, 2.9]).layout.start, tasks[3].layout.start)


def test_noise_at_the_start_does_not_lead_through_walls():
    task = Maze(maze=1, start_noise=1.0)
    starts = np.array([task.start(np.random.default_rng(seed))[1:3] for seed in range(300)])
    lattice = Lattice(task.layout)
    home = label(lattice.free)[0]
    assert np.linalg.norm(starts - task.layout.start, axis=1).mean() > 0.5
    assert not task.layout.walls.grown(BODY).contain(starts).any()
    assert len({home[lattice.cell(start)] for start in starts}) == 1


def test_the_horizon_is_twice_the_way_round_unless_it_is_given():
    layout = Maze(maze=2).layout
    assert Maze(maze=2).horizon == 2 * layout.steps
    assert length(layout.way) / (np.sqrt(2) * SPEED) <= layout.steps <= length(layout.way) / SPEED + len(layout.way)
    assert Maze(maze=2, horizon=30).horizon == 30


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"difficulty": "medum"}, "did you mean 'medium'"),
        ({"difficulty": (3, 2)}, "expected a name or"),
        ({"difficulty": (1, 2, 3)}, "expected a name or"),
        ({"difficulty": (20, 21)}, "no maze 0 has a way round of that length"),
        ({"maze": -1}, "maze is -1"),
        ({"horizon": -1}, "horizon is -1"),
    ],
)
def test_mazes_that_cannot_be_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        Maze(**kwargs)
