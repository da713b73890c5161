import gymnasium
import numpy as np
import pytest

from bges.errors import InputError
from bges.policies import make_policy
from bges_envs.gait import ANGLES, JOINTS, MIDDLES, VELOCITIES, gait_features
from bges_envs.quadruped import DeceptiveQuadruped

TORQUES = {"actuation": "torque", "observe_time": True}


def spaces():
    task = DeceptiveQuadruped(**TORQUES)
    return task.observation_space, task.action_space


def test_the_reflex_knows_where_each_motors_joint_is():
    model = DeceptiveQuadruped(**TORQUES).model
    joints = model.actuator_trnid[:, 0]
    assert ANGLES.tolist() == model.jnt_qposadr[joints].tolist()
    assert VELOCITIES.tolist() == (15 + model.jnt_dofadr[joints]).tolist()
    np.testing.assert_allclose(MIDDLES, model.jnt_range[joints].mean(axis=1), atol=1e-6)
    assert sorted(JOINTS) == list(range(8))


def test_torques_are_the_learned_part_less_the_reflex(rng):
    policy = make_policy("bges_envs.gait:ReflexGait", *spaces(), stiffness=0.3, damping=0.05)
    assert policy.num_parameters == 13 * 8
    theta = 0.1 * rng.standard_normal(policy.num_parameters).astype(np.float32)
    observations = 0.2 * rng.normal(size=(5, policy.observation_size))
    learned = gait_features(observations) @ theta.reshape(13, 8)
    pull = 0.3 * (observations[:, ANGLES] - MIDDLES) + 0.05 * observations[:, VELOCITIES]
    outputs = policy.batch(theta[None], episodes=5).outputs(policy.inputs(observations))
    np.testing.assert_allclose(outputs, learned - pull, atol=1e-5)


def test_an_untrained_reflex_keeps_the_body_up():
    """What it is for: with no learned part the joints stay near the middle and nothing falls."""
    env = gymnasium.make_vec("bges_envs:DeceptiveQuadruped-v0", 4, "vector_entry_point", **TORQUES)
    policy = make_policy("bges_envs.gait:ReflexGait", env.single_observation_space, env.single_action_space)
    batch = policy.batch(np.zeros((1, policy.num_parameters)), episodes=4)
    observations, _ = env.reset(seed=0)
    for _ in range(100):
        observations, _, terminated, _, _ = env.step(batch(observations))
        assert not terminated.any()
    assert np.abs(observations[:, ANGLES] - MIDDLES).max() < 0.6
    env.close()


def test_a_quadruped_without_a_clock_is_refused():
    task = DeceptiveQuadruped(actuation="torque")
    with pytest.raises(InputError, match="observe_time"):
        make_policy("bges_envs.gait:ReflexGait", task.observation_space, task.action_space)


@pytest.mark.parametrize("name", ["stiffness", "damping"])
def test_a_negative_gain_is_refused(name):
    with pytest.raises(InputError, match=f"{name} is -1"):
        make_policy("bges_envs.gait:ReflexGait", *spaces(), **{name: -1.0})
