import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bges.gradient.networks import Network
from bges.stochastic import StochasticMLP, layer_noise

SEEN = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
BOX = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float32)
DISCRETE = gymnasium.spaces.Discrete(4, start=1)


def drawn(policy, rng):
    return (policy.initial(rng) + 0.3 * rng.standard_normal(policy.num_parameters)).astype(np.float32)


@pytest.mark.parametrize("space", [BOX, DISCRETE])
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_jax_sees_the_same_policy_as_numpy(rng, space, noisy, activation):
    policy = StochasticMLP(SEEN, space, hidden=(5, 4), noisy=noisy, activation=activation)
    theta, inputs = drawn(policy, rng), rng.standard_normal((6, 3)).astype(np.float32)
    noise = np.stack([layer_noise(policy.layout, rng) for _ in range(6)]) if noisy else None
    thetas = policy.noisy_thetas(theta, noise) if noisy else np.tile(theta, (6, 1))
    outputs = policy.batch(thetas).outputs(inputs)
    seen = Network(policy.layout).distribution(jnp.asarray(theta), inputs, noise)
    np.testing.assert_allclose(seen.outputs, outputs, rtol=1e-5, atol=1e-6)
    if policy.layout.discrete:
        actions = rng.integers(4, size=6)
        expected = outputs[np.arange(6), actions] - np.log(np.exp(outputs).sum(axis=1))
    else:
        actions = rng.standard_normal((6, 2))
        expected = stats.norm.logpdf(actions, outputs, np.exp(theta[-2:])).sum(axis=1)
    np.testing.assert_allclose(seen.log_prob(jnp.asarray(actions)), expected, rtol=1e-4, atol=1e-5)


def test_kl_and_entropy_are_those_of_the_distributions(rng):
    policy = StochasticMLP(SEEN, BOX, hidden=(4,))
    network = Network(policy.layout)
    inputs = rng.standard_normal((1, 3)).astype(np.float32)
    one, other = (network.distribution(jnp.asarray(drawn(policy, rng)), inputs) for _ in range(2))
    actions = np.asarray(one.outputs + np.exp(one.log_std) * rng.standard_normal((400_000, 2)))
    gaps = np.asarray(one.log_prob(actions) - other.log_prob(actions), float)
    assert float(one.kl(other)[0]) == pytest.approx(gaps.mean(), abs=5 * float(gaps.std()) / 600)
    expected = sum(stats.norm(scale=np.exp(s)).entropy() for s in np.asarray(one.log_std))
    assert float(one.entropy()) == pytest.approx(expected, rel=1e-5)


def test_discrete_kl_and_entropy(rng):
    policy = StochasticMLP(SEEN, DISCRETE, hidden=())
    network, inputs = Network(policy.layout), rng.standard_normal((1, 3)).astype(np.float32)
    one, other = (network.distribution(jnp.asarray(drawn(policy, rng)), inputs) for _ in range(2))
    p, q = (np.exp(d.outputs[0]) / np.exp(d.outputs[0]).sum() for d in (one, other))
    assert float(one.kl(other)[0]) == pytest.approx(stats.entropy(p, q), rel=1e-4)
    assert float(one.entropy()) == pytest.approx(stats.entropy(p), rel=1e-5)


@pytest.mark.parametrize("noisy", [False, True])
def test_samples_have_the_policys_spread_and_are_clipped_for_the_environment_only(rng, noisy):
    policy = StochasticMLP(SEEN, BOX, hidden=(4,), initial_std=2.0, noisy=noisy)
    theta = policy.initial(rng)
    outputs = np.zeros((20_000, 2), np.float32)
    sampled = policy.sample(theta, outputs, policy.action_noise(rng, 20_000))
    np.testing.assert_allclose(sampled.std(axis=0), 2.0, rtol=0.03)
    np.testing.assert_array_equal(policy.playable(sampled), 2.0 * np.clip(sampled, -1.0, 1.0))


def test_discrete_samples_have_the_policys_frequencies(rng):
    policy = StochasticMLP(SEEN, DISCRETE, hidden=())
    logits = np.array([0.0, 1.0, -1.0, 0.5], np.float32)
    noise = policy.action_noise(rng, 50_000)
    chosen = policy.sample(policy.initial(rng), np.tile(logits, (50_000, 1)), noise)
    np.testing.assert_allclose(np.bincount(chosen) / 50_000, np.exp(logits) / np.exp(logits).sum(), atol=0.01)
    np.testing.assert_array_equal(policy.playable(chosen), chosen + 1)


def test_it_begins_with_orthogonal_layers_and_actions_near_the_middle(rng):
    policy = StochasticMLP(SEEN, BOX, hidden=(16, 4))
    theta = policy.initial(rng)
    layout, start = policy.layout, 0
    for (rows, columns), gain in zip(layout.shapes, (2.0, 2.0, 1e-4), strict=True):
        weights = theta[start : start + rows * columns].reshape(rows, columns).astype(np.float64)
        square = weights @ weights.T if rows < columns else weights.T @ weights
        np.testing.assert_allclose(square, gain * np.eye(min(rows, columns)), atol=1e-6)
        assert not theta[start + rows * columns :][:columns].any()
        start += rows * columns + columns
    other = policy.initial(rng)
    assert other.tobytes() != theta.tobytes()


def test_noise_of_a_layer_is_an_outer_product_with_unit_spread(rng):
    policy = StochasticMLP(SEEN, BOX, hidden=(7,), noisy=True)
    noise = layer_noise(policy.layout, rng)
    assert len(noise) == policy.layout.network
    first, bias = noise[:21].reshape(3, 7), noise[21:28]
    assert np.linalg.matrix_rank(first, tol=1e-4) == 1
    np.testing.assert_allclose(first / bias, np.tile((first / bias)[:, :1], 7), rtol=1e-4)
    many = np.stack([layer_noise(policy.layout, rng) for _ in range(4000)])
    # E f(x)² = E|x| for f(x) = sign(x) √|x|.
    assert np.square(many[:, 21:28]).mean() == pytest.approx(np.sqrt(2 / np.pi), rel=0.03)


def test_the_evaluated_policy_plays_its_mean_with_layers_at_rest(rng):
    noisy = StochasticMLP(SEEN, BOX, hidden=(4,), noisy=True)
    plain = StochasticMLP(SEEN, BOX, hidden=(4,))
    theta, size = drawn(noisy, rng), noisy.layout.network
    rows = rng.standard_normal((5, 3))
    expected = plain.batch(np.concatenate([theta[:size], theta[-2:]])[None], episodes=5)(rows)
    np.testing.assert_array_equal(noisy.batch(theta[None], episodes=5)(rows), expected)
