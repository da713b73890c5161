"""Mazes by number: a cul-de-sac on the straight way to the goal, obstacles, and a way round."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from bges.errors import InputError
from bges_envs.boxes import Array, Boxes, length

HALF_SIZE = 4.0
HALF_THICKNESS = 0.1
# The straight distance, or less where the way round would be longer than so much.
STRAIGHT, LONGEST = 4.0, 10.0
BODY = 0.16
SPEED = 0.2
GOAL_RADIUS = 0.4
# What the planned way keeps from the walls, besides the body's half-size.
CLEARANCE = 0.1
DIFFICULTIES = {"easy": (1.4, 2.0), "medium": (2.0, 3.0), "hard": (3.0, 4.0)}
# An episode lasts for so many times the steps of the planned way.
TIME = 2
# To leave the cul-de-sac one has to go away from the goal by so much.
DEPTH = 0.4
# The return of the planned way is at most this share of the return in the cul-de-sac; both are negative.
WORTH = 0.85
ATTEMPTS = 20_000

Rectangle = tuple[float, float, float, float]


@dataclass(frozen=True)
class Layout:
    """One maze: its walls, from where to where, and the planned way with its number of steps."""

    walls: Boxes
    start: Array
    goal: Array
    way: Array
    steps: int

    @property
    def ratio(self) -> float:
        """How much longer the way round is than the straight line."""
        return length(self.way) / float(np.linalg.norm(self.goal - self.start))

    @property
    def horizon(self) -> int:
        return TIME * self.steps


@cache
def maze_layout(number: int, easiest: float, hardest: float) -> Layout:
    """The maze of that number whose way round is between `easiest` and `hardest` times as long as the straight line."""
    rng = np.random.default_rng([number, round(1000 * easiest), round(1000 * hardest)])
    # Long ways are rarer among sketches than short ones, so the length to find is drawn first.
    wanted, tolerance = rng.uniform(easiest, hardest), 0.1 * (hardest - easiest)
    for _ in range(ATTEMPTS):
        layout = _checked(*_sketch(rng, wanted), max(easiest, wanted - tolerance), min(hardest, wanted + tolerance))
        if layout is not None:
            return _turned(layout, rng)
    raise InputError(f"difficulty is ({easiest}, {hardest}): no maze {number} has a way round of that length")


def _sketch(rng: np.random.Generator, ratio: float) -> tuple[Boxes, Rectangle, Array, Array]:
    """Walls, the inside of the cul-de-sac, start and goal; from left to right."""
    slope = rng.uniform(-0.6, 0.6)
    half = min(STRAIGHT, LONGEST / ratio) / 2 * np.array([np.cos(slope), np.sin(slope)])
    middle = rng.uniform(-0.9, 0.9, 2)
    start, goal = middle - half, middle + half
    walls = [
        (-HALF_SIZE, -HALF_SIZE, -HALF_SIZE, HALF_SIZE),
        (HALF_SIZE, -HALF_SIZE, HALF_SIZE, HALF_SIZE),
        (-HALF_SIZE, -HALF_SIZE, HALF_SIZE, -HALF_SIZE),
        (-HALF_SIZE, HALF_SIZE, HALF_SIZE, HALF_SIZE),
    ]
    # The cul-de-sac: its end stands across the straight way, and its arms reach back, at times past the start.
    share = rng.uniform(0.3, 0.65)
    end_x, end_y = start + share * (goal - start)
    bottom, top = min(end_y, goal[1]) - rng.uniform(0.5, 1.9), max(end_y, goal[1]) + rng.uniform(0.5, 1.9)
    arms = rng.uniform(0.6, 3.2, 2)
    walls += [
        (end_x, bottom, end_x, top),
        (end_x - arms[0], bottom, end_x, bottom),
        (end_x - arms[1], top, end_x, top),
    ]
    # Now and then it is built on to the outer wall, which leaves one way round.
    closed = rng.random()
    if closed < 0.2:
        walls.append((end_x, -HALF_SIZE, end_x, bottom))
    elif closed < 0.4:
        walls.append((end_x, top, end_x, HALF_SIZE))
    if rng.random() < 0.5:
        walls += _shelter(goal, rng)
    for _ in range(rng.integers(0, 5)):
        x, y = rng.uniform(-HALF_SIZE, HALF_SIZE, 2)
        across, along = rng.uniform(0.0, 0.3), rng.uniform(0.2, 1.2)
        half_x, half_y = (across, along) if rng.random() < 0.5 else (along, across)
        walls.append((x - half_x, y - half_y, x + half_x, y + half_y))
    corners = np.clip(walls, -HALF_SIZE, HALF_SIZE)
    boxes = Boxes(corners[:, :2], corners[:, 2:]).grown(HALF_THICKNESS)
    return boxes, (end_x - arms.min(), bottom, end_x, top), start, goal


def _shelter(goal: Array, rng: np.random.Generator) -> list[Rectangle]:
    """Walls on two or three sides of the goal."""
    x, y = goal
    left, right = x - rng.uniform(0.7, 1.1), x + rng.uniform(0.4, 2.5)
    bottom, top = y - rng.uniform(0.7, 1.1), y + rng.uniform(0.7, 1.1)
    sides = [(left, bottom, left, top), (left, bottom, right, bottom), (left, top, right, top)]
    missing = rng.integers(0, 4)
    return [side for i, side in enumerate(sides) if i != missing]


def _checked(walls: Boxes, trap: Rectangle, start: Array, goal: Array, easiest: float, hardest: float) -> Layout | None:
    """The layout if it is what a maze should be, else None."""
    ends = np.stack([start, goal])
    roomy = walls.grown(BODY + CLEARANCE)
    if (np.abs(ends) > HALF_SIZE - 0.5).any() or walls.grown(0.5).contain(goal[None])[0]:
        return None
    if roomy.contain(start[None])[0]:
        return None
    way = roomy.shortest_way(start, goal)
    if way is None or not easiest <= length(way) / np.linalg.norm(goal - start) <= hardest:
        return None
    body = walls.grown(BODY)
    narrow = body.shortest_way(start, goal)
    # A gap that the body fits through and the plan does not would be another task.
    if narrow is None or length(narrow) < 0.9 * length(way):
        return None
    steps, planned = follow(body, way)
    horizon = TIME * steps
    greedy = follow(body, ends, horizon)[1]
    left, bottom, right, top = trap
    x, y = greedy[-1]
    # Whoever leaves the cul-de-sac passes its mouth, at `left`, which is no nearer to the goal than that.
    deep = goal[0] - left - float(np.linalg.norm(goal - greedy[-1])) > DEPTH
    if not (left < x < right and bottom < y < top and deep):
        return None
    planned = np.concatenate([planned, np.repeat(planned[-1:], horizon - len(planned), axis=0)])
    cost_planned, cost_greedy = (np.linalg.norm(path - goal, axis=1).sum() for path in (planned, greedy))
    if cost_planned > WORTH * cost_greedy:
        return None
    return Layout(walls, start, goal, way, steps)


def follow(body: Boxes, way: Array, most: int = 1000) -> tuple[int, Array]:
    """Walk along the corners of `way` until its end or for `most` steps: the number of steps and the places (t, 2)."""
    place = way[0]
    places: list[Array] = []
    for corner in way[1:]:
        while np.abs(corner - place).max() > 1e-6 and len(places) < most:
            ahead = corner - place
            move = SPEED * ahead / max(np.abs(ahead).max(), SPEED)
            place = body.slide(place[None], move[None])[0]
            places.append(place)
    return len(places), np.array(places)


def _turned(layout: Layout, rng: np.random.Generator) -> Layout:
    """Turned by a quarter or two or three, and perhaps mirrored."""
    turn, mirror = int(rng.integers(0, 4)), bool(rng.integers(0, 2))

    def place(points: Array) -> Array:
        points = points * [1.0, -1.0 if mirror else 1.0]
        for _ in range(turn):
            points = np.stack([-points[..., 1], points[..., 0]], axis=-1)
        return points

    one, other = place(layout.walls.low), place(layout.walls.high)
    walls = Boxes(np.minimum(one, other), np.maximum(one, other))
    return Layout(walls, place(layout.start), place(layout.goal), place(layout.way), layout.steps)
