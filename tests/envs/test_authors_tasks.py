"""The tasks that others published, as the presets have them, against what was printed about them."""

import numpy as np

import bges
from bges.environments import make_vector_env
from bges_envs.quadruped import DeceptiveQuadruped
from bges_envs.task import START_TIME


def test_the_quadruped_idles_as_published_and_its_trap_is_there():
    """Idling costs 6000; the trap's faces are where they were; nothing ends an episode before its 400 steps."""
    config = bges.load_config("quadruped-authors")
    env = make_vector_env(config.env.id, 2, kwargs=config.env.kwargs)
    env.reset(seed=[0, 1])
    total = np.zeros(2)
    for t in range(400):
        # One lies on its back, the other stands.
        if t == 0:
            positions = DeceptiveQuadruped().model.qpos0.copy()
            positions[3:7] = 0.0, 1.0, 0.0, 0.0
            env._episodes.reset(1, np.concatenate([[START_TIME], positions, np.zeros(14)]))
        _, rewards, terminated, truncated, _ = env.step(np.zeros((2, 8), np.float32))
        total += rewards
        assert not terminated.any()
        assert truncated.all() == (t == 399)
    np.testing.assert_allclose(total[0], -6000, rtol=1e-3)
    boxes = np.array(env.task.walls())
    low, high = boxes[:, 0] - boxes[:, 1], boxes[:, 0] + boxes[:, 1]
    np.testing.assert_allclose(low, [[4, 1.4], [4, -2.0], [4.7, -1.7]])
    np.testing.assert_allclose(high, [[5, 2.0], [5, -1.4], [5.3, 1.7]])


def test_the_point_has_the_published_network_and_wall():
    config = bges.load_config("point-authors")
    assert bges.Evaluator(bges.Problem.of(config)).initial_theta().shape == (101,)
    env = make_vector_env(config.env.id, 1, kwargs=config.env.kwargs)
    env.reset(seed=[0])
    # Their number for moving directly to the wall is -775, give or take one or two.
    total = sum(float(env.step(np.array([[1.0, 0.0]], np.float32))[1][0]) for _ in range(50))
    assert abs(total + 775) < 7
    boxes = np.array(env.task.walls())
    np.testing.assert_allclose(boxes[:, 0], [[13, 2], [13, -2], [14, 0]])
    np.testing.assert_allclose(boxes[:, 1], [[1, 0.3], [1, 0.3], [0.3, 2]])
