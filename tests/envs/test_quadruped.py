"""The quadruped against Gymnasium's Ant and MuJoCo's own contact forces; its trap, falls and divergence."""

import gymnasium
import mujoco
import numpy as np
import pytest

import bges_envs  # noqa: F401
from bges_envs.gait import NAMES, gait_features
from bges_envs.quadruped import ANT, DeceptiveQuadruped, contact_wrenches, upward
from bges_envs.task import START_TIME, STATE

LIKE_ANT = {"trap": False, "actuation": "torque", "fall_rule": False}


def make(num_envs=1, **kwargs):
    return gymnasium.make_vec(
        "bges_envs:DeceptiveQuadruped-v0", num_envs=num_envs, vectorization_mode="vector_entry_point", **kwargs
    )


def put(env, member, positions, velocities):
    """Begin a member's episode at a chosen state."""
    env._episodes.reset(member, np.concatenate([[START_TIME], positions, velocities]))


def test_without_walls_and_with_rk4_it_follows_gymnasiums_ant(rng):
    ant = gymnasium.make("Ant-v5", exclude_current_positions_from_observation=False, terminate_when_unhealthy=False)
    ours = make(integrator="rk4", **LIKE_ANT)
    ours.reset(seed=0)
    ant.reset(seed=0)
    put(ours, 0, ant.unwrapped.data.qpos, ant.unwrapped.data.qvel)
    contacts = 0
    for _ in range(100):
        action = rng.uniform(-1, 1, 8).astype(np.float32)
        expected = ant.step(action)[0][:29]
        observation = ours.step(action[None])[0][0]
        contacts += ant.unwrapped.data.ncon > 0
        # Only the solver's warm start differs, by 1e-14 a step; a hundred steps of contacts amplify that.
        np.testing.assert_allclose(observation[:29], expected, rtol=0, atol=1e-6)
    assert contacts > 10


@pytest.mark.parametrize(("integrator", "in_xml"), [("euler", "Euler"), ("implicitfast", "implicitfast")])
def test_contact_observations_equal_gymnasiums(integrator, in_xml, rng, tmp_path):
    """Same integrator in both: Gymnasium's ant reports the contacts of the last physics step, as our sensors do."""
    xml = tmp_path / "ant.xml"
    xml.write_text(ANT.read_text().replace('integrator="RK4"', f'integrator="{in_xml}"'))
    ant = gymnasium.make(
        "Ant-v5",
        xml_file=str(xml),
        exclude_current_positions_from_observation=False,
        terminate_when_unhealthy=False,
    )
    ours = make(integrator=integrator, **LIKE_ANT)
    ours.reset(seed=0)
    ant.reset(seed=1)
    touched = 0
    for _ in range(100):
        put(ours, 0, ant.unwrapped.data.qpos, ant.unwrapped.data.qvel)
        action = rng.uniform(-1, 1, 8).astype(np.float32)
        expected = ant.step(action)[0]
        observation = ours.step(action[None])[0][0]
        assert observation.shape == (113,)
        assert not observation[29:35].any()
        np.testing.assert_allclose(observation[35:], expected[29:], rtol=0, atol=1e-9)
        touched += expected[29:].any()
    assert touched > 10


@pytest.mark.parametrize("integrator", ["euler", "rk4", "implicitfast"])
def test_wrenches_equal_cfrc_ext_of_the_state_the_last_physics_step_began_in(integrator, rng):
    task = DeceptiveQuadruped(integrator=integrator, actuation="torque")
    model = task.model
    data, reference = mujoco.MjData(model), mujoco.MjData(model)
    state = np.empty(mujoco.mj_stateSize(model, STATE))
    pressed = 0
    for _ in range(200):
        data.ctrl[:] = rng.uniform(-1, 1, 8)
        mujoco.mj_step(model, data, 4)
        mujoco.mj_getState(model, data, state, STATE)
        mujoco.mj_setState(model, reference, state, STATE)
        reference.ctrl[:] = data.ctrl
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, reference)
        mujoco.mj_rnePostConstraint(model, reference)
        expected = reference.cfrc_ext
        np.testing.assert_allclose(contact_wrenches(data.sensordata[None])[0], expected, rtol=1e-6, atol=1e-7)
        pressed += np.abs(expected).max() > 1
    assert pressed > 25


def test_straight_into_the_trap_is_stopped_and_nothing_flies_over(rng):
    """Thrown into the trap at 3 to 12 m/s, also upwards, the ant stays in; without walls it passes."""
    members = 24
    home = DeceptiveQuadruped().model.qpos0
    for trap in (True, False):
        env = make(members, trap=trap, fall_rule=False, horizon=150)
        env.reset(seed=0)
        thrown = np.random.default_rng(0)
        for member in range(members):
            positions, velocities = home.copy(), np.zeros(14)
            positions[:2] = 9.0, thrown.uniform(-0.5, 0.5)
            velocities[0], velocities[2] = thrown.uniform(3, 12), thrown.uniform(0, 10)
            put(env, member, positions, velocities)
        highest = np.zeros(members)
        for _ in range(150):
            observations, *_, info = env.step(np.zeros((members, 8), np.float32))
            highest = np.maximum(highest, observations[:, 2])
        assert highest.max() > 2.5
        if trap:
            assert not info["past_wall"].any()
        else:
            assert info["past_wall"].sum() > members / 4


def test_over_the_wall_does_not_count_as_past_it():
    env = make(2, wall_half_height=0.25, fall_rule=False)
    env.reset(seed=0)
    home = DeceptiveQuadruped().model.qpos0
    for member, height in enumerate((2.0, 0.75)):
        positions, velocities = home.copy(), np.zeros(14)
        positions[0], positions[2], velocities[0] = 13.0 if member == 0 else 16.0, height, 10.0
        put(env, member, positions, velocities)
    for _ in range(15):
        observations, *_, info = env.step(np.zeros((2, 8), np.float32))
    assert (observations[:, 0] > 15).all()
    assert info["past_wall"].tolist() == [False, True]


@pytest.mark.parametrize("charge", ["none", "fall_distance", "start_distance"])
def test_a_fall_ends_the_episode_and_charges_the_rest(charge):
    env = make(2, fall_charge=charge, horizon=100)
    env.reset(seed=0)
    home = DeceptiveQuadruped().model.qpos0
    overturned = home.copy()
    overturned[0], overturned[3:7] = 5.0, (0.0, 1.0, 0.0, 0.0)
    put(env, 0, overturned, np.zeros(14))
    put(env, 1, home, np.zeros(14))
    observations, rewards, terminated, truncated, info = env.step(np.zeros((2, 8), np.float32))
    distance = np.hypot(observations[0, 0] - 25, observations[0, 1])
    expected = {"none": -distance, "fall_distance": -100 * distance, "start_distance": -100 * 20.0}[charge]
    np.testing.assert_allclose(rewards[0], expected, rtol=1e-12)
    assert terminated.tolist() == [True, False]
    assert not truncated.any()
    assert info["fallen"].tolist() == [True, False]


def test_divergence_is_flagged_and_charged_not_hidden(tmp_path, monkeypatch, capfd):
    """MuJoCo silently resets a diverged state; here the episode ends where it was, at the starting distance a step."""
    monkeypatch.chdir(tmp_path)
    home = DeceptiveQuadruped().model.qpos0
    wild = np.zeros(14)
    wild[3] = 1e11
    env = make(2, horizon=100)
    env.reset(seed=0)
    put(env, 0, home, wild)
    put(env, 1, home, np.zeros(14))
    observations, rewards, terminated, _, info = env.step(np.zeros((2, 8), np.float32))
    assert info["diverged"].tolist() == [True, False]
    assert terminated.tolist() == [True, False]
    assert rewards[0] == -100 * 25.0
    assert np.isfinite(observations).all()
    single = gymnasium.make("bges_envs:DeceptiveQuadruped-v0", horizon=100).unwrapped
    single.reset(seed=0)
    put(single, 0, home, wild)
    _, reward, ended, _, single_info = single.step(np.zeros(8, np.float32))
    assert (reward, ended, single_info["diverged"]) == (-2500.0, True, True)
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


def test_servos_hold_the_middle_of_each_range_and_reach_its_ends():
    task = DeceptiveQuadruped(trap=False)
    model = task.model
    for action in (-1.0, 0.0, 1.0):
        data = mujoco.MjData(model)
        data.qpos[2] = 3.0
        model.opt.gravity[:] = 0.0
        data.ctrl[:] = action
        mujoco.mj_step(model, data, 300)
        ranges = model.jnt_range[1:]
        target = ranges.mean(axis=1) + action * np.ptp(ranges, axis=1) / 2
        joints = data.qpos[model.jnt_qposadr[model.actuator_trnid[:, 0]]]
        np.testing.assert_allclose(joints, target[model.actuator_trnid[:, 0] - 1], atol=0.02)


def test_torques_are_actions_times_the_gear():
    for gear in (150.0, 50.0):
        model = DeceptiveQuadruped(actuation="torque", torque_gear=gear).model
        data = mujoco.MjData(model)
        data.ctrl[:] = np.linspace(-1, 1, 8)
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(data.qfrc_actuator[model.jnt_dofadr[model.actuator_trnid[:, 0]]], gear * data.ctrl)


def test_upward_is_the_z_axis_of_the_rotation(rng):
    quaternions = rng.normal(size=(50, 4))
    for quaternion, value in zip(quaternions, upward(quaternions), strict=True):
        matrix = np.empty(9)
        mujoco.mju_quat2Mat(matrix, quaternion / np.linalg.norm(quaternion))
        np.testing.assert_allclose(value, matrix[8], atol=1e-12)


def test_gait_features_are_in_the_yaw_frame(rng):
    """Turning body, goal and velocities about the vertical axis changes only the features that name world axes."""
    observations = rng.normal(size=(20, 30))
    observations[:, :2] += [5.0, 1.0]
    features = gait_features(observations)
    assert features.shape == (20, len(NAMES))
    for row, made in zip(observations, features, strict=True):
        matrix = np.empty(9)
        mujoco.mju_quat2Mat(matrix, row[3:7] / np.linalg.norm(row[3:7]))
        rotation = matrix.reshape(3, 3)
        heading = rotation[:2, 0] / np.linalg.norm(rotation[:2, 0])
        left = np.array([-heading[1], heading[0]])
        goal = np.array([25.0, 0.0]) - row[:2]
        swing = min(np.linalg.norm(goal), 2.0) / 2
        phase = 2 * np.pi * 1.5 * row[-1]
        side = left @ goal / np.linalg.norm(goal)
        expected = [
            1.0,
            swing * np.sin(phase),
            swing * np.cos(phase),
            side,
            side * swing * np.sin(phase),
            side * swing * np.cos(phase),
            heading @ rotation[:2, 2],
            left @ rotation[:2, 2],
            heading @ row[15:17] / 2,
            left @ row[15:17] / 2,
            row[20] / 2,
            row[0] / 25,
            row[1] / 5,
        ]
        np.testing.assert_allclose(made, expected, atol=1e-10)
