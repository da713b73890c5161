"""Axes that can be read, and scenes that are where the task is."""

import numpy as np
import pytest

from bges.report.chart import Chart, labelled
from bges.report.planes import world_limits
from bges_envs.maze import Maze


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([-300.1, -300.0, -299.9], ["-300.1", "-300", "-299.9"]),
        ([-292.5, -290.0], ["-292.5", "-290"]),
        ([0.0, 0.5, 1.0], ["0", "0.5", "1"]),
        ([10_000.0, 10_050.0], ["10k", "10.05k"]),
        ([2.0], ["2"]),
        ([], []),
    ],
)
def test_ticks_have_the_digits_that_tell_them_apart(values, texts):
    assert labelled(values) == list(zip(values, texts, strict=True))


@pytest.mark.parametrize("number", range(4))
def test_a_maze_is_shown_whole_and_the_start_where_it_is(number):
    """Mazes, unlike the other tasks, do not begin at the origin."""
    task = Maze(maze=number)
    x, y = world_limits(task)
    assert x[0] < -4
    assert x[1] > 4
    assert min(-y[0], y[1]) > 4
    chart = Chart(x, y, ("x", "y"), equal=True)
    start = next(mark for mark in map(str, chart.scene(task)) if 'class="start"' in mark)
    place = task.layout.start
    assert np.abs(place).max() > 0.3
    for name, at in (("cx", chart.px(place[0])), ("cy", chart.py(place[1]))):
        assert float(start.split(f'{name}="')[1].split('"')[0]) == pytest.approx(at, abs=0.1)
