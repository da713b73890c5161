import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from bges.environments import EpisodeVectorEnv, horizon_of, make_vector_env, member_seeds
from bges.errors import InputError
from bges.policies import MLP
from bges.rollouts import play

POINT = "bges_envs:DeceptivePoint-v0"
QUADRUPED = "bges_envs:DeceptiveQuadruped-v0"
EVERYTHING = ("observations", "actions")


class Countdown(gymnasium.Env):
    """Ends after as many steps as its seed drew; counts the steps it was really asked for."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-1, 1, (1,), np.float32)
    steps_taken = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(2, 12))
        self.t = 0
        return np.array([self.t, self.left], float), {}

    def step(self, action):
        type(self).steps_taken += 1
        self.t += 1
        self.left -= 1
        observation = np.array([self.t, self.left], float)
        return (
            observation,
            float(self.t),
            self.left == 0,
            False,
            {"is_success": self.t > 5, "late": np.bool_(self.t > 8)},
        )


def batch_for(env, n, rng, scale=1.0):
    policy = MLP(env.single_observation_space, env.single_action_space, hidden=(8,))
    return policy, scale * rng.standard_normal((n, policy.num_parameters)).astype(np.float32)


@pytest.mark.parametrize("env_id", [POINT, QUADRUPED, "Pendulum-v1", "InvertedPendulum-v5", "CartPole-v1"])
def test_a_member_does_not_depend_on_its_batch(env_id, rng):
    """Same parameters and seed: the same bytes, alone or among others, native or not."""
    n, horizon = 6, 40
    env = make_vector_env(env_id, n, horizon=horizon)
    policy, thetas = batch_for(env, n, rng)
    seeds = member_seeds(3, n)
    together = play(env, policy.batch(thetas), seeds=seeds, keep=EVERYTHING, action_noise=0.2)
    for chosen in ([4], [5, 1, 2]):
        few = make_vector_env(env_id, len(chosen), horizon=horizon)
        alone = play(few, policy.batch(thetas[chosen]), seeds=seeds[chosen], keep=EVERYTHING, action_noise=0.2)
        for name in ("observations", "actions", "rewards", "lengths", "final_observations"):
            assert getattr(alone, name).tobytes() == getattr(together, name)[chosen].tobytes()


def test_native_rollouts_equal_a_plain_gymnasium_loop(rng):
    n = 4
    env = make_vector_env(QUADRUPED, n, horizon=60)
    policy, thetas = batch_for(env, n, rng)
    seeds = member_seeds(0, n)
    played = play(env, policy.batch(thetas), seeds=seeds, keep=EVERYTHING)
    for i in range(n):
        single = gymnasium.make(QUADRUPED, horizon=60)
        observation, _ = single.reset(seed=int(seeds[i]) >> 33)
        act = policy.batch(thetas[i : i + 1])
        for t in range(played.lengths[i]):
            assert observation.tobytes() == played.observations[i, t].tobytes()
            action = act(observation[None])[0]
            observation, reward, terminated, truncated, info = single.step(action)
            assert reward == played.rewards[i, t]
        assert terminated or truncated
        assert info["fallen"] == played.flags["fallen"][i]
        assert observation.tobytes() == played.final_observations[i].tobytes()


def test_early_ends_are_padded_and_cost_nothing(rng):
    n = 9
    env = make_vector_env(Countdown, n, horizon=15)
    policy, thetas = batch_for(env, n, rng)
    Countdown.steps_taken = 0
    played = play(env, policy.batch(thetas), seeds=member_seeds(1, n), keep=EVERYTHING)
    assert Countdown.steps_taken == played.lengths.sum()
    assert len(set(played.lengths)) > 2
    assert played.lengths.max() < 15
    for i, length in enumerate(played.lengths):
        assert np.array_equal(played.rewards[i], [t + 1 if t < length else 0 for t in range(15)])
        assert (played.observations[i, length:] == played.final_observations[i]).all()
        assert (played.actions[i, length:] == played.actions[i, length - 1]).all()
        assert played.observations[i, length, 1] == 0
    assert np.array_equal(played.flags["success"], played.lengths > 5)
    assert np.array_equal(played.flags["late"], played.lengths > 8)


def test_quadrupeds_that_fall_stop_costing_physics(rng):
    n = 8
    env = make_vector_env(QUADRUPED, n, kwargs={"actuation": "torque"})
    policy, thetas = batch_for(env, n, rng, scale=3.0)
    stepped = []
    physics = env.unwrapped._episodes._physics
    advance = physics.advance
    physics.advance = lambda states, actions: (stepped.append(len(states)), advance(states, actions))[1]
    played = play(env, policy.batch(thetas), seeds=member_seeds(0, n))
    assert played.flags["fallen"].any()
    assert sum(stepped) == played.lengths.sum() < n * 400


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_environments_that_reset_themselves_are_refused(mode, rng):
    env = SyncVectorEnv([Countdown] * 2, autoreset_mode=mode)
    env.horizon = 15
    policy, thetas = batch_for(env, 2, rng)
    with pytest.raises(InputError, match=f"autoreset_mode is {mode.value}, expected Disabled"):
        play(env, policy.batch(thetas), seeds=[0, 1])


def test_only_what_is_asked_for_is_kept(rng):
    env = make_vector_env(QUADRUPED, 3, horizon=10)
    policy, thetas = batch_for(env, 3, rng)
    played = play(env, policy.batch(thetas), seeds=member_seeds(0, 3))
    assert played.kept_observations is None
    assert played.kept_actions is None
    with pytest.raises(InputError, match="without keeping observations"):
        _ = played.observations
    assert played.rewards.shape == (3, 10)
    assert played.final_observations.shape == (3, 113)


def test_moments_count_what_active_members_saw(rng):
    n = 6
    env = make_vector_env(Countdown, n, horizon=15)
    policy, thetas = batch_for(env, n, rng)
    played = play(env, policy.batch(thetas), seeds=member_seeds(4, n), keep=EVERYTHING, count_inputs=True)
    seen = np.concatenate([played.observations[i, :length] for i, length in enumerate(played.lengths)])
    assert played.inputs.count == len(seen)
    np.testing.assert_allclose(played.inputs.mean, seen.mean(axis=0))
    np.testing.assert_allclose(played.inputs.m2 / len(seen), seen.var(axis=0))


def test_action_noise_has_its_scale_and_its_own_seed(rng):
    n = 40
    env = make_vector_env(POINT, n)
    policy = MLP(env.single_observation_space, env.single_action_space)
    still = np.zeros((n, policy.num_parameters), np.float32)
    seeds = member_seeds(0, n)
    played = play(env, policy.batch(still), seeds=seeds, keep=EVERYTHING, action_noise=0.1)
    np.testing.assert_allclose(played.actions.std(), 0.1, rtol=0.05)
    assert abs(np.corrcoef(played.actions[:, :, 0])[np.triu_indices(n, 1)]).mean() < 0.2
    other = play(env, policy.batch(still), seeds=member_seeds(1, n), keep=EVERYTHING, action_noise=0.1)
    assert not np.array_equal(played.actions, other.actions)


def test_a_policy_that_learned_the_straight_way_hits_the_wall_and_success_is_reported():
    env = make_vector_env(POINT, 2)
    policy = MLP(env.single_observation_space, env.single_action_space, hidden=())
    forward = np.zeros(policy.num_parameters, np.float32)
    forward[-2] = 1.0
    played = play(env, policy.batch(np.stack([forward, np.zeros_like(forward)])), seeds=[0, 1])
    np.testing.assert_allclose(played.returns, [-769.6, -1250.0], atol=0.5)
    assert not played.flags["past_wall"].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_vector_env("Pendulun-v1", 1), "env.id is 'Pendulun-v1'.*Pendulum"),
        (lambda: make_vector_env("bges_envs:DeceptivePoin-v0", 1), "DeceptivePoint"),
        (lambda: make_vector_env("nowhere:Env-v0", 1), "there is no module 'nowhere'"),
        (lambda: make_vector_env("Pendulum-v1", 0), "num_envs is 0"),
        (lambda: make_vector_env("Pendulum-v1", 1, horizon=0), "env.horizon is 0"),
        (lambda: make_vector_env("Pendulum-v1", 1, kwargs={"gravity": 3}), "gravity"),
        (lambda: make_vector_env(POINT, 1, kwargs={"trap_half_widht": 3}), "did you mean 'trap_half_width'"),
        (lambda: make_vector_env(f"{__name__}:Countdown", 1), "has no time limit of its own"),
    ],
)
def test_bad_environments_are_refused_in_one_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_bad_calls_are_refused(rng):
    env = make_vector_env(POINT, 2)
    policy, thetas = batch_for(env, 2, rng)
    for arguments, message in (
        ({"seeds": [1]}, "seeds has shape"),
        ({"seeds": [1, 2], "keep": ["rewards"]}, "keep is 'rewards'"),
        ({"seeds": [1, 2], "action_noise": -1.0}, "action_noise is -1.0"),
    ):
        with pytest.raises(InputError, match=message):
            play(env, policy.batch(thetas), **arguments)
    with pytest.raises(InputError, match=r"3 policies .* for 2 environments"):
        play(env, policy.batch(thetas[[0, 0, 1]]), seeds=[1, 2])


def test_a_users_factory_by_module_name_and_its_horizon(rng):
    env = make_vector_env(f"{__name__}:Countdown", 3, horizon=7)
    assert isinstance(env, EpisodeVectorEnv)
    assert horizon_of(env) == 7
    policy, thetas = batch_for(env, 3, rng)
    assert play(env, policy.batch(thetas), seeds=[0, 1, 2]).rewards.shape == (3, 7)
