import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from bges.errors import InputError
from bges.moments import Moments
from bges.policies import MLP, FeatureLinear, FixedPolicy, Linear, Policy, Toeplitz, make_policy

OBSERVATIONS = Box(-np.inf, np.inf, (7,), np.float64)
ACTIONS = Box(np.array([-1.0, 0.0, -2.0], np.float32), np.array([1.0, 4.0, 2.0], np.float32))


def some_features(observations, *, power=2):
    return np.concatenate([np.ones((len(observations), 1)), observations**power], axis=1)


POLICIES = {
    "linear": lambda obs, act: Linear(obs, act),
    "mlp": lambda obs, act: MLP(obs, act, hidden=(16, 5), squash="tanh"),
    "relu": lambda obs, act: MLP(obs, act, hidden=(5, 5), activation="relu"),
    "toeplitz": lambda obs, act: Toeplitz(obs, act, hidden=(9,)),
    "no output bias": lambda obs, act: Toeplitz(obs, act, hidden=(9, 4), output_bias=False),
    "features": lambda obs, act: FeatureLinear(obs, act, features=some_features),
}


def reference(policy, theta, observation):
    """The network, written out for one observation in double precision."""
    x = np.asarray(observation, float)
    if isinstance(policy, FeatureLinear):
        x = some_features(x[None])[0]
    layers = policy.layers(theta[None])
    for depth, (weights, bias) in enumerate(layers):
        x = {"tanh": np.tanh, "relu": lambda x: x * (x > 0)}[policy.activation](x) if depth else x
        x = x @ weights[0].astype(float) + (0 if bias is None else bias[0].astype(float))
    x = np.tanh(x) if policy.actions.squash == "tanh" else x
    middle, half = (ACTIONS.high + ACTIONS.low) / 2, (ACTIONS.high - ACTIONS.low) / 2
    return middle + half * np.clip(x, -1, 1)


@pytest.mark.parametrize("name", POLICIES)
def test_forward_matches_the_network_written_out(name, rng):
    policy = POLICIES[name](OBSERVATIONS, ACTIONS)
    thetas = 0.3 * rng.standard_normal((6, policy.num_parameters)).astype(np.float32)
    observations = rng.normal(size=(6, 7))
    actions = policy.batch(thetas)(observations)
    assert actions.dtype == np.float32
    for theta, observation, action in zip(thetas, observations, actions, strict=True):
        np.testing.assert_allclose(action, reference(policy, theta, observation), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("sizes", [(7, 3), (113, 8), (29, 6)])
def test_batched_forward_is_bit_identical_to_one_by_one(name, sizes, rng):
    observation_space = Box(-np.inf, np.inf, (sizes[0],), np.float64)
    policy = POLICIES[name](observation_space, Box(-1, 1, (sizes[1],), np.float32))
    moments = Moments.of(rng.normal(size=(50, policy.input_size)))
    for batch in (1, 2, 3, 8, 17, 64, 200):
        thetas = rng.standard_normal((batch, policy.num_parameters)).astype(np.float32)
        observations = rng.normal(size=(batch, sizes[0]))
        inputs = policy.inputs(observations)
        together = policy.batch(thetas, moments=moments).outputs(inputs)
        for i in range(batch):
            alone = policy.batch(thetas[i : i + 1].copy(), moments=moments).outputs(
                policy.inputs(observations[i : i + 1])
            )
            assert alone.tobytes() == together[i].tobytes()


def test_episodes_share_parameters_bit_for_bit(rng):
    policy = MLP(OBSERVATIONS, ACTIONS)
    thetas = rng.standard_normal((4, policy.num_parameters)).astype(np.float32)
    observations = rng.normal(size=(12, 7))
    shared = policy.batch(thetas, episodes=3)(observations)
    repeated = policy.batch(np.repeat(thetas, 3, axis=0))(observations)
    assert shared.tobytes() == repeated.tobytes()


def test_toeplitz_weights_are_constant_along_diagonals(rng):
    policy = Toeplitz(OBSERVATIONS, ACTIONS, hidden=(9,))
    assert policy.num_parameters == (7 + 9 - 1) + 9 + (9 + 3 - 1) + 3
    thetas = rng.standard_normal((2, policy.num_parameters)).astype(np.float32)
    for weights, _ in policy.layers(thetas):
        assert np.array_equal(weights[:, 1:, 1:], weights[:, :-1, :-1])
        assert len(np.unique(weights[0])) == weights.shape[1] + weights.shape[2] - 1


def test_initial_parameters():
    rng = np.random.default_rng(0)
    assert not Linear(OBSERVATIONS, ACTIONS).initial(rng).any()
    mlp = MLP(OBSERVATIONS, ACTIONS, hidden=(64,))
    theta = mlp.initial(rng)
    assert theta.shape == (mlp.num_parameters,)
    assert theta.dtype == np.float32
    first = mlp.layers(theta[None])[0][0]
    np.testing.assert_allclose(first.std(), 1 / np.sqrt(7), rtol=0.1)


@pytest.mark.parametrize("name", ["mlp", "toeplitz"])
def test_uniform_first_parameters_of_each_part_are_below_one_over_the_root_of_its_size(name):
    kwargs = {"hidden": (40, 30), "output_bias": False, "init": "uniform"}
    policy = make_policy(name, OBSERVATIONS, ACTIONS, **kwargs)
    theta, start = policy.initial(np.random.default_rng(0)), 0
    matrices = {"mlp": (7 * 40, 40 * 30, 30 * 3), "toeplitz": (7 + 39, 40 + 29, 30 + 2)}[name]
    for size in (matrices[0], 40, matrices[1], 30, matrices[2]):
        part = theta[start : start + size] * np.sqrt(size)
        assert 0 <= part.min() < 0.2
        assert 0.8 < part.max() < 1
        np.testing.assert_allclose(part.mean(), 0.5, atol=4 / np.sqrt(12 * size))
        start += size
    assert start == policy.num_parameters


def test_the_published_networks_have_101_and_502_parameters():
    for inputs, outputs, hidden, parameters in ((6, 2, 16, 101), (113, 8, 64, 502)):
        spaces = (Box(-1, 1, (inputs,), np.float64), Box(-1, 1, (outputs,), np.float32))
        assert Toeplitz(*spaces, hidden=(hidden, hidden), output_bias=False).num_parameters == parameters


def test_normalisation_uses_the_moments(rng):
    policy = Linear(OBSERVATIONS, ACTIONS)
    data = rng.normal(3.0, 2.0, (100, 7))
    theta = rng.standard_normal((1, policy.num_parameters)).astype(np.float32)
    moments = Moments.of(data)
    plain = policy.batch(theta).outputs(((data - data.mean(axis=0)) / data.std(axis=0))[:1])
    normalised = policy.batch(theta, moments=moments).outputs(data[:1])
    np.testing.assert_allclose(normalised, plain, rtol=1e-5)
    # Far away is clipped at ten standard deviations.
    far = policy.batch(theta, moments=moments).outputs(np.full((1, 7), 1e9))
    np.testing.assert_allclose(far, policy.batch(theta).outputs(np.full((1, 7), 10.0)), rtol=1e-6)


def test_discrete_actions_take_the_largest_output(rng):
    policy = Linear(OBSERVATIONS, Discrete(4, start=2))
    thetas = rng.standard_normal((5, policy.num_parameters)).astype(np.float32)
    observations = rng.normal(size=(5, 7))
    batch = policy.batch(thetas)
    assert np.array_equal(batch(observations), 2 + batch.outputs(observations).argmax(axis=1))


def test_unbounded_actions_are_left_as_they_are(rng):
    policy = Linear(OBSERVATIONS, Box(-np.inf, np.inf, (2,), np.float32))
    thetas = 100 * rng.standard_normal((5, policy.num_parameters)).astype(np.float32)
    observations = rng.normal(size=(5, 7))
    batch = policy.batch(thetas)
    assert np.array_equal(batch(observations), batch.outputs(observations))


def test_fixed_policy_takes_one_observation_or_a_batch(rng):
    policy = MLP(OBSERVATIONS, ACTIONS)
    fixed = FixedPolicy(policy, policy.initial(rng), Moments.of(rng.normal(size=(9, 7))))
    observations = rng.normal(size=(5, 7))
    together = fixed(observations)
    assert together.shape == (5, 3)
    for i in range(5):
        assert fixed(observations[i]).tobytes() == together[i].tobytes()
    with pytest.raises(ValueError, match="read-only"):
        fixed.theta[0] = 1.0
    with pytest.raises(InputError, match=r"observation has shape \(6,\)"):
        fixed(np.zeros(6))


class OwnPolicy(Policy):
    """A user's own: constant actions."""

    @property
    def num_parameters(self):
        return self.actions.output_size

    def layers(self, thetas):
        return [(np.zeros((len(thetas), self.input_size, self.num_parameters), np.float32), thetas)]

    def initial(self, rng):
        return np.zeros(self.num_parameters, np.float32)


def test_policies_by_name_and_by_module():
    assert isinstance(make_policy("mlp", OBSERVATIONS, ACTIONS, hidden=[4]), MLP)
    own = make_policy(f"{__name__}:OwnPolicy", OBSERVATIONS, ACTIONS)
    np.testing.assert_allclose(own.batch(np.full((1, 3), 0.5))(np.ones((1, 7))), [[0.5, 3.0, 1.0]])


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("mpl", {}, "did you mean 'mlp'"),
        ("mlp", {"hidden": [0]}, "hidden is 0"),
        ("mlp", {"hiden": [3]}, "argument of policy mlp is 'hiden' .did you mean 'hidden'"),
        ("mlp", {"squash": "relu"}, "squash is 'relu'"),
        ("toeplitz", {"init": "unifrom"}, "did you mean 'uniform'"),
        ("nowhere:Policy", {}, "there is no module 'nowhere'"),
        ("bges.policies:Nothing", {}, "has no 'Nothing'"),
        ("features", {"features": "bges_envs.gait:gait"}, "has no 'gait'"),
        ("features", {"features": lambda observations: observations.sum()}, "features of observations"),
    ],
)
def test_bad_policies_are_refused(name, kwargs, message):
    with pytest.raises(InputError, match=message):
        make_policy(name, OBSERVATIONS, ACTIONS, **kwargs)


def test_bad_spaces_and_parameters_are_refused():
    with pytest.raises(InputError, match="FlattenObservation"):
        Linear(gymnasium.spaces.Dict({"a": OBSERVATIONS}), ACTIONS)
    for shape in ((84, 84, 3), (4, 84, 84), (84, 84)):
        with pytest.raises(InputError, match="looks like an image") as caught:
            MLP(Box(0, 255, shape, np.uint8), ACTIONS)
        assert "\n" not in str(caught.value)
    assert MLP(Box(-1, 1, (2, 3), np.float32), ACTIONS).observation_size == 6
    assert MLP(Box(0, 255, (84 * 84,), np.uint8), ACTIONS).observation_size == 84 * 84
    with pytest.raises(InputError, match="expected a Box or Discrete"):
        Linear(OBSERVATIONS, gymnasium.spaces.MultiBinary(3))
    policy = Linear(OBSERVATIONS, ACTIONS)
    with pytest.raises(InputError, match="thetas has shape"):
        policy.batch(np.zeros((2, 5)))
    with pytest.raises(InputError, match="thetas has a non-finite value"):
        policy.batch(np.full((2, policy.num_parameters), np.nan))
