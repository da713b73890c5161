"""Errors in a user's own code: the first line says whose and where, the traceback below is theirs alone."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from bges.behavior import make_cost, make_embedding
from bges.environments import make_vector_env
from bges.errors import InputError, UserCodeError
from bges.plugins import load_attribute
from bges.policies import MLP
from bges.rollouts import play
from bges.trajectories import Trajectories

SEEDS = [3 << 33, 5 << 33]


class Broken(gymnasium.Env):
    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, fault="none"):
        self.fault = fault
        if fault == "init":
            self.fail()
        if fault == "type":
            len(3)

    def fail(self):
        raise ZeroDivisionError("my own\nmistake")

    def reset(self, *, seed=None, options=None):
        self.t, self.seed = 0, seed
        if self.fault == "reset":
            self.fail()
        return np.array([0.0, np.nan if self.fault == "first" else 0.0]), {}

    def step(self, action):
        self.t += 1
        fault = self.fault if self.t == 3 and self.seed == 5 else "none"
        if fault == "step":
            self.fail()
        if fault == "refuse":
            raise InputError("gravity is -1, expected a positive number")
        observation = np.array([0.0, np.inf if fault == "last" else 0.0])
        return observation, float("nan") if fault == "reward" else 1.0, False, False, {}


class BrokenVector(VectorEnv):
    """A native one of the user's own."""

    member_seeds = True
    single_observation_space, single_action_space = Broken.observation_space, Broken.action_space

    def __init__(self, num_envs=1, horizon=5, autoreset_mode=AutoresetMode.DISABLED):
        self.num_envs, self.horizon, self.metadata = num_envs, horizon, {"autoreset_mode": autoreset_mode}
        self.observation_space, self.action_space = (
            batch_space(space, num_envs) for space in (self.single_observation_space, self.single_action_space)
        )

    def reset(self, *, seed=None, options=None):
        return np.zeros((self.num_envs, 2)), {}

    def step(self, actions):
        raise ZeroDivisionError("my own mistake")


gymnasium.register("Broken-v0", entry_point=Broken, max_episode_steps=5)
gymnasium.register("BrokenVector-v0", entry_point=Broken, vector_entry_point=BrokenVector)


def failure(name, **kwargs):
    with pytest.raises((UserCodeError, InputError)) as caught:
        episodes(name, kwargs)
    return caught.value


def episodes(name, kwargs):
    env = make_vector_env(name, 2, horizon=5, kwargs=kwargs)
    policy = MLP(env.single_observation_space, env.single_action_space)
    return play(env, policy.batch(np.zeros((2, policy.num_parameters))), seeds=SEEDS)


@pytest.mark.parametrize("name", [f"{__name__}:Broken", "Broken-v0"])
@pytest.mark.parametrize(
    ("fault", "where", "frames"),
    [
        ("init", "__init__", ["__init__", "fail"]),
        ("reset", "reset (episode seed 3)", ["reset", "fail"]),
        ("step", "step 3 (episode seed 5)", ["step", "fail"]),
    ],
)
def test_an_environments_error_has_its_place_and_the_users_frames(name, fault, where, frames):
    error = failure(name, fault=fault)
    first, head, *below, last, more = str(error).splitlines()
    assert first == f"environment {name!r}, {where}: ZeroDivisionError: my own"
    assert head == "Traceback (most recent call last):"
    assert [line.rpartition(" ")[2] for line in below if line.startswith("  File")] == frames
    assert all(__file__ in line for line in below if line.startswith("  File"))
    assert (last, more) == ("ZeroDivisionError: my own", "mistake")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("name", [f"{__name__}:Broken", "Broken-v0"])
def test_a_type_error_is_not_taken_for_a_refused_argument(name):
    lines = str(failure(name, fault="type")).splitlines()
    assert lines[0].startswith(f"environment {name!r}, __init__: TypeError: object of type 'int' has no len()")
    assert lines[-2].strip() == "len(3)"


def test_a_vector_environment_of_the_users_own_is_told_too():
    lines = str(failure("BrokenVector-v0")).splitlines()
    assert (
        lines[0]
        == "environment 'BrokenVector-v0', step 1 (episode seeds 3 and 1 more): ZeroDivisionError: my own mistake"
    )
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("first", "non-finite observation at its reset (episode seed 3)"),
        ("last", "non-finite observation at step 3 (episode seed 5)"),
        ("reward", "non-finite reward at step 3 (episode seed 5)"),
    ],
)
def test_what_is_not_finite_is_blamed_on_the_environment(fault, message):
    error = failure("Broken-v0", fault=fault)
    assert isinstance(error, UserCodeError)
    assert str(error) == f"the environment gave a {message}"


def test_what_an_environment_refuses_stays_one_line():
    error = failure("Broken-v0", fault="refuse")
    assert isinstance(error, InputError)
    assert str(error) == "gravity is -1, expected a positive number"


def broken_embedding(trajectories):
    return trajectories.no_such_part


def broken_cost(x, y):
    return x @ y


def test_embeddings_and_costs():
    one = np.ones((1, 1, 1))
    played = Trajectories.from_arrays(observations=np.ones((1, 2, 1)), actions=one, rewards=one[0])
    for call, first in (
        (
            lambda: make_embedding(f"{__name__}:broken_embedding")(played),
            f"embedding '{__name__}:broken_embedding': AttributeError: 'Trajectories' object has no attribute",
        ),
        (lambda: make_cost(broken_cost)(np.ones((2, 3)), np.ones((2, 3))), "cost 'broken_cost': ValueError: matmul"),
        (lambda: make_embedding(Broken, fault="init"), "embedding 'Broken', __init__: ZeroDivisionError: my own"),
    ):
        with pytest.raises(UserCodeError) as caught:
            call()
        assert str(caught.value).startswith(first)
        assert str(caught.value).count(__file__) in (1, 2)


def test_a_module_that_cannot_be_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_half_module.py").write_text("import no_such_package\n")
    with pytest.raises(UserCodeError) as caught:
        load_attribute("env.id", "my_half_module:Env")
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "env.id is 'my_half_module:Env', import of its module: ModuleNotFoundError: No module named 'no_such_package'"
    )
    assert [line for line in lines if "File" in line] == [f'  File "{tmp_path}/my_half_module.py", line 1, in <module>']
