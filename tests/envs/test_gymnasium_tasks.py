"""The batched versions of Gymnasium's MuJoCo tasks against Gymnasium's own, and when which is used."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv

from bges.environments import EpisodeVectorEnv, find_env, horizon_of, make_vector_env, member_seeds
from bges.errors import InputError
from bges.policies import MLP
from bges.rollouts import play
from bges_envs.gymnasium_tasks import BATCHED
from bges_envs.task import START_TIME
from bges_envs.vector import TaskVectorEnv

IDS = ("HalfCheetah-v5", "Hopper-v5", "InvertedPendulum-v5", "Swimmer-v5", "Walker2d-v5")
MOVING = {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.7, "exclude_current_positions_from_observation": False}
HEALTHY = {"healthy_reward": 3.0, "healthy_z_range": [0.9, 1.6], "healthy_angle_range": (-0.1, 0.05)}
VARIANTS = [
    *((name, {}) for name in IDS),
    ("HalfCheetah-v5", {**MOVING, "reset_noise_scale": 0.3}),
    ("Swimmer-v5", {**MOVING, "reset_noise_scale": 0.0}),
    ("Hopper-v5", {**MOVING, **HEALTHY, "healthy_state_range": (-2.0, 2.5)}),
    ("Hopper-v5", {"terminate_when_unhealthy": False, "reset_noise_scale": 0.1}),
    ("Walker2d-v5", {**MOVING, **HEALTHY}),
    ("Walker2d-v5", {"terminate_when_unhealthy": False, "reset_noise_scale": 0.1}),
    ("InvertedPendulum-v5", {"reset_noise_scale": 0.15}),
]
# What is left to Gymnasium's own environments.
OTHERS = [
    ("HalfCheetah-v5", {"frame_skip": 2}),
    ("Hopper-v5", {"xml_file": "hopper.xml"}),
    ("Swimmer-v5", {"camera_name": "track"}),
    ("Walker2d-v5", {"max_episode_steps": 7}),
    ("Ant-v5", {}),
    ("Reacher-v5", {}),
    ("HalfCheetah-v4", {}),
]


def put(env, data):
    """Begin the only member's episode in the state that Gymnasium's environment is in."""
    env._episodes.reset(0, np.concatenate([[START_TIME], data.qpos, data.qvel]))


@pytest.mark.parametrize(("name", "kwargs"), VARIANTS)
def test_every_step_from_gymnasiums_state_is_gymnasiums_step(name, kwargs, rng):
    """Starts by their bytes, ends as they are, the rest to 1e-9.

    The solver starts cold here and warm there. It stops at a relative improvement below 1e-8, which Newton's quadratic
    convergence turns into far less on the solution: 6e-13 was the largest difference seen.
    """
    theirs, ours = gymnasium.make(name, **kwargs), make_vector_env(name, 1, kwargs=kwargs)
    assert isinstance(ours, TaskVectorEnv)
    assert ours.single_observation_space == theirs.observation_space
    assert ours.single_action_space == theirs.action_space
    assert horizon_of(ours) == theirs.spec.max_episode_steps
    data, bounds = theirs.unwrapped.data, theirs.action_space.high
    ended = 0
    for seed in range(4):
        expected, _ = theirs.reset(seed=seed)
        assert ours.reset(seed=[seed])[0][0].tobytes() == expected.tobytes()
        for _ in range(60):
            put(ours, data)
            # Beyond the bounds MuJoCo clips what moves the joints, and the cost is that of the action as it is.
            action = rng.uniform(-1.3, 1.3, len(bounds)) * bounds
            expected, reward, terminated, _, _ = theirs.step(action)
            observations, rewards, ends, cut, info = ours.step(action[None])
            np.testing.assert_allclose(observations[0], expected, rtol=0, atol=1e-9)
            np.testing.assert_allclose(rewards[0], reward, rtol=0, atol=1e-9)
            assert (ends[0], cut[0]) == (terminated, False)
            assert "success" not in info
            ended += terminated
            if terminated:
                theirs.reset()
    assert bool(ended) == (name not in ("HalfCheetah-v5", "Swimmer-v5") and "terminate_when_unhealthy" not in kwargs)


@pytest.mark.parametrize("name", IDS)
def test_rollouts_equal_those_of_gymnasiums_own_environments(name, rng):
    """Half an ulp of a float32 action is 6e-8, and thirty steps make a hundred times that of it at most."""
    n, horizon = 6, 30
    ours = make_vector_env(name, n, horizon=horizon)
    theirs = EpisodeVectorEnv(lambda: gymnasium.make(name, max_episode_steps=horizon), n)
    policy = MLP(ours.single_observation_space, ours.single_action_space, hidden=(8,))
    batch = policy.batch(0.5 * rng.standard_normal((n, policy.num_parameters)).astype(np.float32))
    seeds = member_seeds(0, n)
    played, expected = (play(env, batch, seeds=seeds, keep=("observations", "actions")) for env in (ours, theirs))
    assert np.array_equal(played.lengths, expected.lengths)
    for what in ("observations", "actions", "rewards"):
        np.testing.assert_allclose(getattr(played, what), getattr(expected, what), rtol=0, atol=1e-5)
    assert set(played.flags) <= {"diverged", "fallen"}


def test_left_alone_we_leave_gymnasium_later_than_it_leaves_itself():
    """HalfCheetah is chaotic: what moves its start by 1e-13 moves it by 1e-3 after sixty steps of random actions."""
    theirs, moved = gymnasium.make("HalfCheetah-v5"), gymnasium.make("HalfCheetah-v5")
    departures = []
    for seed in range(6):
        ours = make_vector_env("HalfCheetah-v5", 1)
        for env in (theirs, moved, ours):
            env.reset(seed=seed)
        data = moved.unwrapped.data
        moved.unwrapped.set_state(data.qpos + 1e-13, data.qvel.copy())
        for action in np.random.default_rng(seed).uniform(-1, 1, (60, 6)):
            expected, other, observations = theirs.step(action)[0], moved.step(action)[0], ours.step(action[None])[0]
        departures.append((np.abs(observations[0] - expected).max(), np.abs(other - expected).max()))
    we, itself = np.median(departures, axis=0)
    assert we < itself
    assert itself > 1e-6


@pytest.mark.parametrize(("name", "kwargs"), OTHERS)
def test_what_is_not_known_here_is_left_to_gymnasium(name, kwargs, rng):
    env = make_vector_env(name, 2, kwargs=kwargs)
    assert isinstance(env, EpisodeVectorEnv)
    env.reset(seed=[0, 1])
    assert env.step(env.action_space.sample())[0].shape == env.observation_space.shape
    env.close()


def test_a_misspelt_argument_is_refused_by_gymnasium():
    with pytest.raises(InputError, match="ctrl_cost_wieght"):
        make_vector_env("Hopper-v5", 2, kwargs={"ctrl_cost_wieght": 1.0})
    with pytest.raises(InputError, match="horizon"):
        make_vector_env("Hopper-v5", 2, kwargs={"horizon": 5})


def test_a_specification_of_ones_own_decides_arguments_limit_and_wrappers():
    own = gymnasium.envs.registration.EnvSpec(
        "Own-v0", entry_point=HopperEnv, max_episode_steps=3, kwargs={"ctrl_cost_weight": 0.5, "healthy_reward": 2.0}
    )
    env = make_vector_env(own, 2, kwargs={"healthy_reward": 4.0})
    assert (env.task.ctrl_cost_weight, env.task.healthy_reward) == (0.5, 4.0)
    assert (horizon_of(env), env.unwrapped.spec.id, env.unwrapped.spec.max_episode_steps) == (3, "Own-v0", 3)
    env.reset(seed=0)
    for t in range(3):
        assert env.step(np.zeros((2, 3), np.float32))[3].tolist() == [t == 2] * 2
    assert horizon_of(make_vector_env(own, 2, horizon=9)) == 9

    with pytest.raises(InputError, match="no time limit"):
        make_vector_env(dataclasses.replace(own, max_episode_steps=None), 2)
    rescaled = gymnasium.wrappers.RescaleAction(gymnasium.make("Hopper-v5"), -2, 2).spec
    wrapped = dataclasses.replace(find_env("Hopper-v5"), additional_wrappers=rescaled.additional_wrappers)
    assert make_vector_env(wrapped, 1).single_action_space.high[0] == 2


def test_divergence_ends_an_episode_and_pays_nothing():
    env = make_vector_env("Hopper-v5", 2)
    env.reset(seed=0)
    state = env._episodes.states[1].copy()
    state[-1] = 1e11
    env._episodes.reset(1, state)
    _, rewards, terminated, _, info = env.step(np.zeros((2, 3), np.float32))
    assert rewards[0] > 0.5
    assert rewards[1] == 0
    assert terminated.tolist() == info["diverged"].tolist() == [False, True]


@pytest.mark.parametrize("batched", BATCHED.values())
def test_members_can_be_drawn(batched):
    env = batched(2, render_mode="rgb_array", width=120, height=90)
    env.reset(seed=0)
    frames = env.render()
    assert [frame.shape for frame in frames] == [(90, 120, 3)] * 2
    assert len(np.unique(frames[0].reshape(-1, 3), axis=0)) > 20
    env.close()
