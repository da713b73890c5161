"""The two-goal plane against its formula."""

import gymnasium
import numpy as np

import bges_envs  # noqa: F401


def test_moves_by_its_action_and_pays_by_the_formula(rng):
    env = gymnasium.make("bges_envs:MultiGoal-v0").unwrapped
    state, _ = env.reset(seed=3)
    for _ in range(env.task.horizon):
        action = rng.uniform(-1, 1, 2).astype(np.float32)
        distance = min(np.linalg.norm(state - goal) for goal in (np.array([2.0, 0.0]), np.array([-2.0, 0.0])))
        after, reward, terminated, truncated, _ = env.step(action)
        np.testing.assert_allclose(after, state + action, atol=1e-12)
        np.testing.assert_allclose(reward, -30 * np.sum(action.astype(float) ** 2) - distance**2, rtol=1e-12)
        assert not terminated
        state = after
    assert truncated


def test_start_is_gaussian_with_variance_a_tenth():
    env = gymnasium.make_vec("bges_envs:MultiGoal-v0", num_envs=4000, vectorization_mode="vector_entry_point")
    starts, _ = env.reset(seed=0)
    np.testing.assert_allclose(starts.mean(axis=0), 0.0, atol=4 * np.sqrt(0.1 / 4000))
    np.testing.assert_allclose(starts.var(axis=0), 0.1, rtol=4 * np.sqrt(2 / 4000))


def test_either_goal_is_a_success():
    for direction in (1, -1):
        env = gymnasium.make("bges_envs:MultiGoal-v0", start_variance=0.0).unwrapped
        env.reset(seed=0)
        for _ in range(4):
            info = env.step(np.array([0.5 * direction, 0.0], np.float32))[-1]
        assert info["success"]
        assert (info["goal_left"], info["goal_right"]) == (direction < 0, direction > 0)
        # A goal that was left again was reached, but is not where the episode ends.
        for _ in range(4):
            info = env.step(np.array([0.5 * direction, 0.0], np.float32))[-1]
        assert info["success"]
        assert not info["goal_left"]
        assert not info["goal_right"]
