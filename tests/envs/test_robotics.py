"""The mazes of Gymnasium-Robotics behind one vector of observations."""

import gymnasium
import numpy as np
import pytest

from bges.environments import horizon_of, make_vector_env
from bges.errors import InputError

robotics = pytest.importorskip("gymnasium_robotics", reason="needs the extra robotics")
ID = "bges_envs.robotics:GoalMaze"
# Name, the original's id, what it observes besides the two positions, horizon.
TASKS = [("PointMaze_UMaze", "PointMaze_UMazeDense-v3", 4, 300), ("AntMaze_UMaze", "AntMaze_UMazeDense-v5", 105, 700)]


@pytest.mark.parametrize(("task", "name", "size", "horizon"), TASKS)
def test_it_is_the_original_with_its_observations_end_to_end(task, name, size, horizon, rng):
    gymnasium.register_envs(robotics)
    theirs, ours = gymnasium.make(name), make_vector_env(ID, 2, kwargs={"task": task})
    assert ours.single_observation_space.shape == (4 + size,)
    assert horizon_of(ours) == horizon
    expected, _ = theirs.reset(seed=7)
    observations, _ = ours.reset(seed=[3, 7])
    for _ in range(20):
        flat = np.concatenate([expected[key] for key in ("achieved_goal", "desired_goal", "observation")])
        np.testing.assert_array_equal(observations[1], flat)
        action = rng.uniform(-1, 1, ours.single_action_space.shape).astype(np.float32)
        expected, reward, *_ = theirs.step(action)
        observations, rewards, terminated, *_ = ours.step(np.stack([-action, action]))
        assert rewards[1] == reward
        assert not terminated.any()
    assert not np.array_equal(observations[0], observations[1])


@pytest.mark.parametrize(("task", "scale"), [("PointMaze_UMaze", 1.0), ("AntMaze_UMaze", 4.0)])
def test_start_and_goal_stay_in_their_cells_and_the_way_between_is_deceptive(task, scale):
    """The two ends of the U: nearer to each other than the way round, whatever the seed."""
    env = make_vector_env(ID, 1, kwargs={"task": task, "start": [3, 1], "goal": [1, 1]})
    for seed in range(5):
        observations, _ = env.reset(seed=[seed])
        np.testing.assert_allclose(observations[0, :2], scale * np.array([-1, -1]), atol=0.26 * scale)
        np.testing.assert_allclose(observations[0, 2:4], scale * np.array([-1, 1]), atol=0.26 * scale)


def test_the_end_of_an_episode_says_whether_it_succeeded():
    env = make_vector_env(ID, 2, horizon=60, kwargs={"task": "PointMaze_Open", "start": [2, 2], "goal": [2, 3]})
    observations, _ = env.reset(seed=[0, 0])
    for _ in range(60):
        towards = observations[:, 2:4] - observations[:, :2] - 0.3 * observations[:, 6:8]
        actions = np.clip(np.stack([towards[0], -towards[1]]), -1, 1).astype(np.float32)
        observations, _, _, truncated, info = env.step(actions)
    assert truncated.all()
    assert info["success"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"task": "PointMaze_UMaz"}, "did you mean 'PointMaze_UMaze'"),
        ({"task": "PointMaze_UMaze", "start": [0, 0]}, r"start is \[0, 0\], expected a free cell"),
        ({"task": "PointMaze_UMaze", "goal": [9, 9]}, r"goal is \[9, 9\], expected a free cell"),
    ],
)
def test_unknown_mazes_and_cells_are_refused(kwargs, message):
    with pytest.raises(InputError, match=message):
        make_vector_env(ID, 1, kwargs=kwargs)
