"""Sliding along walls and the shortest way, against small steps and against a fine grid."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from bges_envs.boxes import Boxes, length


def some_boxes(rng, count):
    centres, halves = rng.uniform(-3, 3, (count, 2)), rng.uniform(0.1, 0.8, (count, 2))
    return Boxes(centres - halves, centres + halves)


def free_points(boxes, rng, count):
    points = rng.uniform(-3.5, 3.5, (20 * count, 2))
    return points[~boxes.contain(points)][:count]


@pytest.mark.parametrize("reach", [1.5, 6.0])
def test_a_slide_is_many_tiny_steps_that_stop_at_walls(reach, rng):
    boxes = some_boxes(rng, 12)
    starts = free_points(boxes, rng, 60)
    moves = rng.uniform(-reach, reach, starts.shape)
    ends = boxes.slide(starts, moves)
    tiny, stopped = 1e-3, 0
    for start, move, end in zip(starts, moves, ends, strict=True):
        place = start.copy()
        for axis in (0, 1):
            for _ in range(int(abs(move[axis]) / tiny)):
                ahead = place.copy()
                ahead[axis] += np.sign(move[axis]) * tiny
                if boxes.contain(ahead[None])[0]:
                    stopped += 1
                    break
                place = ahead
        np.testing.assert_allclose(end, place, atol=2 * tiny)
    assert stopped > 20


def test_no_move_is_changed_where_there_are_no_walls(rng):
    starts, moves = rng.normal(size=(2, 5, 2))
    none = Boxes(np.empty((0, 2)), np.empty((0, 2)))
    np.testing.assert_allclose(none.slide(starts, moves), starts + moves)
    np.testing.assert_allclose(none.shortest_way(starts[0], starts[1]), starts[:2])


def test_a_body_at_a_wall_can_slide_along_it_and_leave():
    wall = Boxes([[1.0, -1.0]], [[2.0, 1.0]])
    at = wall.slide(np.array([[0.0, 0.0]]), np.array([[5.0, 0.5]]))
    np.testing.assert_array_equal(at, [[1.0, 0.5]])
    np.testing.assert_array_equal(wall.slide(at, np.array([[0.1, 0.2]])), [[1.0, 0.7]])
    np.testing.assert_array_equal(wall.slide(at, np.array([[-0.5, 0.0]])), [[0.5, 0.5]])


def test_a_line_along_a_wall_touches_it_and_one_through_it_is_blocked():
    wall = Boxes([[0.0, 0.0]], [[1.0, 1.0]])
    lines = np.array(
        [[[-1, 0], [2, 0]], [[-1, 0.5], [2, 0.5]], [[-1, 0.5], [-0.1, 0.5]], [[-1, -1], [0, 0]], [[0, 2], [2, 0]]]
    )
    assert wall.block(lines[:, 0], lines[:, 1]).tolist() == [False, True, False, False, False]


def on_a_grid(boxes, start, goal, step):
    """Length of the shortest way along 16 directions of a grid through both ends' cells."""
    ticks = np.arange(-4, 4 + step / 2, step)
    points = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    free, side = ~boxes.contain(points), len(ticks)
    index = np.arange(len(points)).reshape(side, side)
    rows, columns, costs = [], [], []
    for i, j in ((1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (1, 2), (2, -1), (1, -2)):
        a = index[: side - i, max(0, -j) : side - max(0, j)].ravel()
        b = index[i:, max(0, j) : side - max(0, -j)].ravel()
        clear = free[a] & free[b]
        clear[clear] &= ~boxes.block(points[a[clear]], points[b[clear]])
        rows.append(a[clear])
        columns.append(b[clear])
        costs.append(np.full(clear.sum(), step * np.hypot(i, j)))
    graph = coo_array(
        (np.concatenate(costs), (np.concatenate(rows), np.concatenate(columns))), shape=(len(points),) * 2
    )
    ends = [int(np.where(free, np.linalg.norm(points - end, axis=1), np.inf).argmin()) for end in (start, goal)]
    return dijkstra(graph, directed=False, indices=ends[0])[ends[1]]


@pytest.mark.parametrize("seed", range(8))
def test_the_shortest_way_is_no_longer_than_a_grids_and_not_much_shorter(seed):
    rng = np.random.default_rng(seed)
    boxes, step = some_boxes(rng, 14), 0.08
    start, goal = free_points(boxes, rng, 2)
    way, grid = boxes.shortest_way(start, goal), on_a_grid(boxes, start, goal, step)
    assert (way[0] == start).all()
    assert (way[-1] == goal).all()
    assert not boxes.block(way[:-1], way[1:]).any()
    # Sixteen directions cost up to 2.8 %, the cells of the ends and of each corner up to one step.
    assert length(way) < grid + 2 * step
    assert grid < 1.028 * length(way) + 2 * step * len(way)


def test_there_is_no_way_out_of_a_closed_room():
    sides = np.array([[-1.1, -1, -1, 1], [1, -1, 1.1, 1], [-1.1, -1.1, 1.1, -1], [-1.1, 1, 1.1, 1.1]])
    room = Boxes(sides[:, :2], sides[:, 2:]).grown(0.01)
    assert room.shortest_way(np.zeros(2), np.array([3.0, 0.0])) is None
    assert len(room.shortest_way(np.zeros(2), np.array([0.5, 0.5]))) == 2
