"""The environments: Gymnasium's own checks, single against vector, and what bad input gets."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import bges_envs  # noqa: F401
from bges.errors import InputError

IDS = ("AntTrap-v0", "DeceptivePoint-v0", "DeceptiveQuadruped-v0", "Maze-v0", "MultiGoal-v0")
# Arguments that exercise what the defaults do not.
VARIANTS = [
    ("AntTrap-v0", {}),
    ("DeceptivePoint-v0", {}),
    ("DeceptivePoint-v0", {"start_noise": 0.3, "trap_half_width": 3.0, "integrator": "rk4"}),
    ("DeceptiveQuadruped-v0", {}),
    ("DeceptiveQuadruped-v0", {"actuation": "torque", "fall_rule": False, "observe_time": True}),
    ("DeceptiveQuadruped-v0", {"observe_contacts": False, "integrator": "rk4", "fall_charge": "fall_distance"}),
    ("Maze-v0", {}),
    ("Maze-v0", {"maze": 7, "difficulty": "hard", "start_noise": 0.3, "horizon": 50}),
    ("MultiGoal-v0", {}),
]


def make_vec(name, num_envs, **kwargs):
    return gymnasium.make_vec(f"bges_envs:{name}", num_envs=num_envs, vectorization_mode="vector_entry_point", **kwargs)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*infinity.*")
def test_check_env_passes(name):
    env = gymnasium.make(f"bges_envs:{name}", render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize(("name", "kwargs"), VARIANTS)
def test_single_and_vector_agree_exactly(name, kwargs, rng):
    members, steps = 5, 120
    vector = make_vec(name, members, autoreset_mode=AutoresetMode.NEXT_STEP, **kwargs)
    singles = [gymnasium.make(f"bges_envs:{name}", **kwargs) for _ in range(members)]
    observations, info = vector.reset(seed=[10 + i for i in range(members)])
    for i, env in enumerate(singles):
        first, single_info = env.reset(seed=10 + i)
        assert first.tobytes() == observations[i].tobytes()
        assert single_info == {key: info[key][i] for key in single_info}
    finished = [False] * members
    ended = 0
    for _ in range(steps):
        actions = rng.uniform(-1.2, 1.2, (members, *vector.single_action_space.shape)).astype(np.float32)
        observations, rewards, terminated, truncated, info = vector.step(actions)
        for i, env in enumerate(singles):
            if finished[i]:
                observation, single_info = env.reset()
                reward, end, cut = 0.0, False, False
            else:
                observation, reward, end, cut, single_info = env.step(actions[i])
            assert observation.tobytes() == observations[i].tobytes()
            assert (reward, end, cut) == (rewards[i], terminated[i], truncated[i])
            assert single_info == {key: info[key][i] for key in single_info}
            finished[i] = end or cut
            ended += finished[i]
    if name not in ("AntTrap-v0", "DeceptiveQuadruped-v0"):
        assert ended > 0


@pytest.mark.parametrize("name", IDS)
def test_same_seed_same_episode_whatever_the_batch(name, rng):
    steps = 20
    small, large = make_vec(name, 2), make_vec(name, 7)
    actions = rng.uniform(-1, 1, (steps, 7, *large.single_action_space.shape)).astype(np.float32)
    few, _ = small.reset(seed=[5, 6])
    many, _ = large.reset(seed=[1, 5, 2, 3, 6, 4, 0])
    assert few.tobytes() == many[[1, 4]].tobytes()
    for t in range(steps):
        few = small.step(actions[t, [1, 4]])[0]
        many = large.step(actions[t])[0]
        assert few.tobytes() == many[[1, 4]].tobytes()


def test_disabled_autoreset_freezes_finished_members_until_the_mask_resets_them():
    env = make_vec("DeceptivePoint-v0", 3, horizon=4, autoreset_mode=AutoresetMode.DISABLED)
    thrust = np.ones((3, 2), np.float32)
    env.reset(seed=0)
    for _ in range(4):
        observations, _, _, truncated, _ = env.step(thrust)
    assert truncated.all()
    still, rewards, terminated, truncated, _ = env.step(thrust)
    assert np.array_equal(still, observations)
    assert not rewards.any()
    assert not terminated.any()
    assert not truncated.any()
    started, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert not started[1].any()
    moved = env.step(thrust)[0]
    assert np.array_equal(moved[[0, 2]], observations[[0, 2]])
    assert moved[1, 0] > 0


@pytest.mark.parametrize("name", IDS)
def test_render_shows_the_scene(name):
    env = gymnasium.make(f"bges_envs:{name}", render_mode="rgb_array", width=200, height=150)
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (150, 200, 3)
    red, green, blue = (first.astype(int)[..., i] for i in range(3))
    colours = {"body": blue > red + 60, "goal": (green > red + 60) & (green > blue + 60), "walls": red > green + 60}
    seen = {what for what, pixels in colours.items() if pixels.sum() > 20}
    missing = {"MultiGoal-v0": {"walls"}, "AntTrap-v0": {"goal"}}.get(name, set())
    assert seen == set(colours) - missing
    assert 1 < env.unwrapped.task.horizon / env.metadata["render_fps"] < 60, "seconds of a film"
    for _ in range(15):
        env.step(np.ones(env.action_space.shape, np.float32))
    assert (env.render() != first).any()
    env.close()


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("DeceptivePoint-v0", {"horizon": 0}, "horizon is 0, expected a whole number >= 1"),
        ("DeceptivePoint-v0", {"trap_half_widht": 3}, "did you mean 'trap_half_width'"),
        ("DeceptivePoint-v0", {"trap_half_width": -1.0}, "trap_half_width is -1.0"),
        ("DeceptivePoint-v0", {"trap_half_length": 7.0}, "cover the start"),
        ("DeceptivePoint-v0", {"integrator": "rk5"}, "did you mean 'rk4'"),
        ("DeceptiveQuadruped-v0", {"actuation": "servos"}, "did you mean 'servo'"),
        ("DeceptiveQuadruped-v0", {"torque_gear": 0.0}, "torque_gear is 0.0"),
        ("DeceptiveQuadruped-v0", {"fall_charge": "double"}, "fall_charge is 'double'"),
        ("DeceptiveQuadruped-v0", {"healthy_z": (1.0, 0.2)}, "healthy_z"),
        ("MultiGoal-v0", {"start_variance": -0.1}, "start_variance"),
        ("DeceptivePoint-v0", {"render_mode": "ansi"}, "render_mode is 'ansi'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode.*")
def test_bad_arguments_are_refused_in_one_line(name, kwargs, message):
    for make in (lambda: gymnasium.make(f"bges_envs:{name}", **kwargs), lambda: make_vec(name, 2, **kwargs)):
        with pytest.raises(InputError, match=message) as caught:
            make()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", IDS)
def test_bad_actions_and_seeds_are_refused(name):
    env = make_vec(name, 2)
    env.reset(seed=0)
    size = env.single_action_space.shape[0]
    with pytest.raises(InputError, match=r"action has a non-finite value \(nan\) at \(1, 0\)"):
        env.step(np.array([[0.0] * size, [np.nan] * size]))
    with pytest.raises(InputError, match="action has shape"):
        env.step(np.zeros((2, size + 1)))
    with pytest.raises(InputError, match="seed has 3 entries"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(InputError, match="SameStep"):
        make_vec(name, 2, autoreset_mode=AutoresetMode.SAME_STEP)
    single = gymnasium.make(f"bges_envs:{name}").unwrapped
    single.reset(seed=0)
    with pytest.raises(InputError, match="non-finite"):
        single.step(np.full(size, np.inf))
