import numpy as np
import pytest

from bges.environments import make_vector_env
from bges.errors import InputError

TASKS = ["hopper-stand", "hopper-hop", "walker-stand", "acrobot-swingup"]
ID = "bges_envs.dm_control:DmControl"


@pytest.fixture(scope="module", params=TASKS)
def env(request):
    return make_vector_env(ID, 2, horizon=1000, kwargs={"task": request.param})


def play(env, seeds, steps):
    rng = np.random.default_rng(0)
    observations, _ = env.reset(seed=list(seeds))
    seen = [observations.copy()]
    for _ in range(steps):
        observations, rewards, *_ = env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32))
        assert ((rewards >= 0) & (rewards <= 1)).all()
        seen.append(observations.copy())
    return np.stack(seen)


def test_an_episode_depends_on_its_seed_alone(env):
    first = play(env, [3, 4], 20)
    assert first.shape[2:] == env.single_observation_space.shape
    play(env, [8, 9], 5)
    np.testing.assert_array_equal(play(env, [3, 4], 20), first)
    np.testing.assert_array_equal(play(env, [3, 5], 20)[:, 0], first[:, 0])
    assert not np.array_equal(first[:, 0], first[:, 1])


def test_observations_are_the_suites_own(env):
    from dm_control import suite

    inner = env.envs[0].unwrapped._env
    observations, _ = env.reset(seed=[1, 2])
    task = inner.task.get_observation(inner.physics)
    np.testing.assert_array_equal(observations[0], np.concatenate([np.ravel(value) for value in task.values()]))
    assert type(inner.task) in [type(suite.load(*task.split("-")).task) for task in TASKS]


def test_time_that_runs_out_truncates():
    env = make_vector_env(ID, 1, horizon=2000, kwargs={"task": "acrobot-swingup"})
    env.reset(seed=[0])
    for t in range(1000):
        _, _, terminated, truncated, _ = env.step(np.zeros((1, 1), np.float32))
        assert (bool(terminated[0]), bool(truncated[0])) == (False, t == 999)


def test_an_unknown_task_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="task is 'hopper-stan' \\(did you mean 'hopper-stand'"):
        make_vector_env(ID, 1, horizon=10, kwargs={"task": "hopper-stan"})
