"""The ant trap: its reward against Gymnasium's Ant, its walls, its ends."""

import gymnasium
import numpy as np
import pytest

import bges_envs  # noqa: F401
from bges.errors import InputError
from bges_envs.ant_trap import AntTrap
from bges_envs.task import START_TIME


def make(num_envs, **kwargs):
    return gymnasium.make_vec(
        "bges_envs:AntTrap-v0", num_envs=num_envs, vectorization_mode="vector_entry_point", **kwargs
    )


def put(env, member, positions, velocities):
    env._episodes.reset(member, np.concatenate([[START_TIME], positions, velocities]))


def test_without_a_trap_it_is_gymnasiums_ant_without_contact_costs(rng):
    kwargs = {"contact_cost_weight": 0.0, "include_cfrc_ext_in_observation": False, "main_body": 1}
    ant = gymnasium.make("Ant-v5", exclude_current_positions_from_observation=False, **kwargs)
    ours = make(1, trap=False, integrator="rk4")
    ours.reset(seed=0)
    ant.reset(seed=0)
    put(ours, 0, ant.unwrapped.data.qpos, ant.unwrapped.data.qvel)
    steps = 0
    for _ in range(40):
        action = rng.uniform(-0.5, 0.5, 8).astype(np.float32)
        before = ant.unwrapped.data.qpos[0]
        observed, theirs, ended, _, told = ant.step(action)
        observations, rewards, terminated, _, _ = ours.step(action[None])
        np.testing.assert_allclose(observations[0], observed, rtol=0, atol=1e-6)
        # Ant reads the torso's speed from where RK4 leaves its last stage; the progress itself is the position's.
        speed = (ant.unwrapped.data.qpos[0] - before) / ant.unwrapped.dt
        assert terminated[0] == ended
        # Ant pays for being up after the step, QDax's ant for every step.
        np.testing.assert_allclose(rewards[0], theirs - told["reward_forward"] + speed + ended, atol=1e-4)
        if ended:
            break
        steps += 1
    assert steps > 15


def test_a_thrown_ant_stays_in_the_dead_end():
    env, home, thrown = make(16, horizon=200, fall_rule=False), AntTrap().model.qpos0, np.random.default_rng(0)
    env.reset(seed=0)
    for member in range(16):
        positions, velocities = home.copy(), np.zeros(14)
        positions[:2] = thrown.uniform(7, 9), thrown.uniform(-1.5, 1.5)
        velocities[:3] = thrown.uniform(3, 8), thrown.uniform(-4, 4), thrown.uniform(0, 5)
        put(env, member, positions, velocities)
    for _ in range(150):
        observations, *_, info = env.step(np.zeros((16, 8), np.float32))
    x, y = observations[:, 0], observations[:, 1]
    assert not info["past_wall"].any()
    # The torso's radius is 0.25; inside, the end is at 11.5 and the arms are at 2.5.
    assert x.max() < 11.5 - 0.2
    assert np.abs(y[x > 6]).max() < 2.5 - 0.2
    assert "success" not in info


def test_a_fall_ends_the_episode_without_a_charge():
    env, home = make(2), AntTrap().model.qpos0
    env.reset(seed=0)
    overturned = home.copy()
    overturned[3:7] = 0.0, 1.0, 0.0, 0.0
    put(env, 0, overturned, np.zeros(14))
    put(env, 1, home, np.zeros(14))
    before = env._episodes.states[:, 1].copy()
    _, rewards, terminated, _, info = env.step(np.full((2, 8), 0.5, np.float32))
    assert terminated.tolist() == info["fallen"].tolist() == [True, False]
    progress = (env._episodes.states[:, 1] - before) / 0.05
    np.testing.assert_allclose(rewards, progress + 1 - 0.5 * 8 * 0.25, rtol=1e-9)


def test_divergence_does_not_pay():
    env, wild = make(1), np.zeros(14)
    env.reset(seed=0)
    wild[3] = 1e11
    put(env, 0, AntTrap().model.qpos0, wild)
    _, rewards, terminated, _, info = env.step(np.zeros((1, 8), np.float32))
    assert terminated[0]
    assert info["diverged"][0]
    assert rewards[0] == 0


def test_there_is_no_goal_to_set():
    with pytest.raises(InputError, match="argument of AntTrap is 'goal_x'"):
        make(1, goal_x=3.0)
