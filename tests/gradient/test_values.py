import numpy as np
import pytest

from bges.config.gradient import PlainConfig
from bges.gradient.networks import mlp
from bges.gradient.samples import Rollouts
from bges.gradient.values import ValueFunction, advantages

SETTINGS = PlainConfig(value_hidden=[8], value_epochs=100, value_minibatch=25, value_rate=0.01)


def direct(rewards, values, following, terminated, ended, discount, decay):
    """The definition: Σ_l (γλ)^l δ_{t+l} to the end of the episode."""
    found = np.zeros_like(rewards)
    for env, t in np.ndindex(rewards.shape):
        factor, u = 1.0, t
        while True:
            future = 0.0 if terminated[env, u] else following[env, u]
            found[env, t] += factor * (rewards[env, u] + discount * future - values[env, u])
            if ended[env, u]:
                break
            factor, u = factor * discount * decay, u + 1
    return found


def drawn(rng, shape=(3, 40)):
    terminated = rng.random(shape) < 0.1
    ended = terminated | (rng.random(shape) < 0.1)
    ended[:, -1] = True
    return rng.standard_normal(shape).astype(np.float32), terminated, ended


@pytest.mark.parametrize(("discount", "decay"), [(0.99, 0.95), (0.9, 1.0), (0.95, 0.0)])
def test_gae_is_the_discounted_sum_within_episodes(rng, discount, decay):
    rewards, terminated, ended = drawn(rng)
    values, following = rng.standard_normal((2, 3, 40)).astype(np.float32)
    found = advantages(rewards, values, following, terminated, ended, discount=discount, decay=decay)
    expected = direct(rewards, values, following, terminated, ended, discount, decay)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def rollouts(rng, inputs):
    rewards, terminated, ended = drawn(rng, inputs.shape[:2])
    following = np.roll(inputs, -1, axis=1)
    following[ended] = rng.standard_normal((int(ended.sum()), inputs.shape[2]))
    nothing = np.zeros((0, 1), np.float32)
    return Rollouts(
        inputs=inputs,
        following=following,
        actions=rewards,
        rewards=rewards,
        terminated=terminated,
        finished=ended,
        ended=ended,
        embeddings=nothing,
        returns=np.zeros(0),
    )


def test_values_and_advantages_are_in_the_units_of_the_rewards(rng):
    inputs = rng.standard_normal((2, 50, 3)).astype(np.float32)
    value, batch = ValueFunction(SETTINGS, 3, rng), rollouts(rng, inputs)
    targets = (1000.0 + 50.0 * np.tanh(inputs @ [1.0, -1.0, 0.5])).astype(np.float32)
    for _ in range(5):
        value.fit(batch, targets, rng)
    estimates = value.estimate(batch)
    assert np.abs(np.asarray(estimates.values) - targets).mean() < 10.0
    following = value.estimate(rollouts(rng, batch.following)).values
    expected = direct(batch.rewards, estimates.values, following, batch.terminated, batch.ended, 0.99, 0.95)
    np.testing.assert_allclose(estimates.advantages, expected, rtol=1e-3, atol=0.02)
    np.testing.assert_allclose(estimates.returns, estimates.advantages + estimates.values, rtol=1e-5)


def test_new_units_of_the_returns_change_no_prediction(rng):
    inputs = rng.standard_normal((2, 50, 3)).astype(np.float32)
    value, batch = ValueFunction(SETTINGS, 3, rng), rollouts(rng, inputs)
    value.fit(batch, rng.standard_normal((2, 50)).astype(np.float32) * 5, rng)
    before = np.asarray(value.estimate(batch).values)
    seen = type(value.moments).of(rng.standard_normal((50, 1)) * 300 + 70)
    value._rescale(seen)
    np.testing.assert_allclose(value.estimate(batch).values, before, rtol=1e-3, atol=1e-3)
    assert value.moments.std[0] > 100
    direct_outputs = mlp(value.parameters, value._shapes, inputs)[..., 0]
    np.testing.assert_allclose(direct_outputs * value.moments.std + value.moments.mean, before, rtol=1e-3, atol=1e-3)
