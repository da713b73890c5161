"""The deceptive point against hand-written controllers and calibrated scores."""

import gymnasium
import numpy as np
import pytest

import bges_envs  # noqa: F401


def episode(controller, **kwargs):
    """Total reward, positions (t, 2) and the last info of one episode under `controller(observation)`."""
    env = gymnasium.make("bges_envs:DeceptivePoint-v0", **kwargs)
    observation, _ = env.reset(seed=0)
    total, path, done = 0.0, [observation[:2]], False
    while not done:
        observation, reward, terminated, truncated, info = env.step(controller(observation))
        total, done = total + reward, terminated or truncated
        path.append(observation[:2])
    return total, np.array(path), info


def thrust(observation):
    return np.array([1.0, 0.0], np.float32)


def round_the_wall(observation):
    target = np.array([18.0, 6.0]) if observation[0] < 12 else np.array([25.0, 0.0])
    return np.clip(0.3 * (target - observation[:2]) - 0.12 * observation[3:5], -1, 1).astype(np.float32)


def test_standing_still_scores_the_distance_times_the_horizon():
    total, path, info = episode(lambda observation: np.zeros(2, np.float32))
    assert total == pytest.approx(-25 * 50)
    assert len(path) == 51
    assert not info["success"]
    assert not info["past_wall"]


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_the_straight_way_is_stopped_by_the_trap(integrator):
    total, path, info = episode(thrust, integrator=integrator)
    assert total == pytest.approx(-770, rel=0.01)
    # The ball rests against the end wall: 14 - 0.3 - its radius.
    assert path[-1, 0] == pytest.approx(13.2, abs=0.05)
    assert not info["past_wall"]
    assert not info["success"]


@pytest.mark.parametrize(("integrator", "score"), [("euler", -571), ("rk4", -583)])
def test_the_way_round_reaches_the_goal(integrator, score):
    total, _, info = episode(round_the_wall, integrator=integrator)
    assert total == pytest.approx(-580, rel=0.02)
    assert total == pytest.approx(score, abs=1.0)
    assert info["success"]
    assert info["past_wall"]


def test_without_a_trap_the_straight_way_passes():
    def straight(observation):
        return np.clip(0.3 * ([25.0, 0.0] - observation[:2]) - 0.12 * observation[3:5], -1, 1).astype(np.float32)

    total, _, info = episode(straight, trap=False)
    assert info["past_wall"]
    assert info["success"]
    assert total > -560
    assert not episode(straight)[2]["past_wall"]


def test_a_wider_trap_stops_what_went_round_the_narrow_one():
    """A course that clears half-width 2 by a metre and ends in a trap of half-width 6."""

    def course(observation):
        target = np.array([18.0, 3.8]) if observation[0] < 14 else np.array([25.0, 0.0])
        return np.clip(0.3 * (target - observation[:2]) - 0.12 * observation[3:5], -1, 1).astype(np.float32)

    assert episode(course, horizon=80)[2]["past_wall"]
    assert not episode(course, horizon=80, trap_half_width=6.0)[2]["past_wall"]


@pytest.mark.parametrize("half_width", [2.0, 6.0])
def test_nothing_goes_through_the_walls(half_width, rng):
    """Random full-thrust courses, fast enough to cross a wall within two physics steps."""
    members, steps = 500, 60
    env = gymnasium.make_vec(
        "bges_envs:DeceptivePoint-v0",
        num_envs=members,
        vectorization_mode="vector_entry_point",
        trap_half_width=half_width,
        horizon=steps,
    )
    positions = [env.reset(seed=0)[0][:, :2]]
    angle = rng.normal(0.0, half_width / 8, members)
    for _ in range(steps):
        turn = (positions[-1][:, 0] > 6) & (rng.random(members) < 0.3)
        angle[turn] = rng.uniform(-np.pi / 2, np.pi / 2, turn.sum())
        action = np.clip(1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1), -1, 1)
        positions.append(env.step(action.astype(np.float32))[0][:, :2])
    path = np.array(positions)
    x, y = path[..., 0], path[..., 1]
    inside = (x > 12) & (x < 14) & (np.abs(y) < half_width)
    assert inside.any(axis=0).sum() > 50
    assert crossings(x, y, 14.0, half_width - 0.3, -half_width + 0.3) == 0
    for side in (half_width, -half_width):
        assert crossings(y, x, side, 13.7, 12.3) == 0


def crossings(along, across, place, high, low):
    """How often a path (t, n) passes `along` = place while `across` lies between low and high."""
    before, after = along[:-1] - place, along[1:] - place
    share = before / np.where(before == after, 1.0, before - after)
    where = across[:-1] + share * (across[1:] - across[:-1])
    return int(((before * after < 0) & (where > low) & (where < high)).sum())
