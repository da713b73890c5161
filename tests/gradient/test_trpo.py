import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bges.config.gradient import TrpoConfig
from bges.gradient.networks import Batch, Network, surrogate
from bges.gradient.trpo import Trpo, conjugate_gradient, fisher_product
from bges.stochastic import StochasticMLP, layer_noise

SEEN = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
SPACES = {"gaussian": gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32), "discrete": gymnasium.spaces.Discrete(3)}


def problem(rng, kind, noisy=False, count=24):
    policy = StochasticMLP(SEEN, SPACES[kind], hidden=(3,), noisy=noisy)
    theta = (policy.initial(rng) + 0.3 * rng.standard_normal(policy.num_parameters)).astype(np.float32)
    inputs = rng.standard_normal((count, 2)).astype(np.float32)
    discrete = policy.layout.discrete
    actions = rng.integers(3, size=count) if discrete else rng.standard_normal((count, 2)).astype(np.float32)
    noise = np.stack([layer_noise(policy.layout, rng) for _ in range(4)]) if noisy else None
    advantages = rng.standard_normal(count).astype(np.float32)
    parts = (jnp.asarray(part) for part in (inputs, actions, advantages))
    return Network(policy.layout), theta, Batch(*parts, None if noise is None else jnp.asarray(noise))


@pytest.mark.parametrize(("kind", "noisy"), [("gaussian", False), ("discrete", True)])
def test_fisher_products_are_those_of_the_explicit_matrix(rng, kind, noisy):
    network, theta, batch = problem(rng, kind, noisy)
    # Jᵀ M J, with M the Fisher matrix of the distribution in its own parameters.
    jacobian = np.asarray(jax.jit(jax.jacobian(lambda at: network.of(at, batch).outputs))(theta), float)
    if kind == "gaussian":
        precision = np.exp(-2.0 * theta[-2:].astype(float))
        matrix = np.einsum("nki,k,nkj->ij", jacobian, precision, jacobian) / 24
        matrix[[-2, -1], [-2, -1]] += 2.0
    else:
        p = np.asarray(jax.nn.softmax(network.of(theta, batch).outputs), float)
        own = np.einsum("nk,kl->nkl", p, np.eye(3)) - np.einsum("nk,nl->nkl", p, p)
        matrix = np.einsum("nki,nkl,nlj->ij", jacobian, own, jacobian) / 24
    for vector in rng.standard_normal((3, len(theta))).astype(np.float32):
        np.testing.assert_allclose(fisher_product(network, theta, batch, vector), matrix @ vector, rtol=1e-3, atol=1e-4)


def test_conjugate_gradient_solves(rng):
    root = rng.standard_normal((6, 6))
    matrix, right = root @ root.T + np.eye(6), rng.standard_normal(6)
    found = conjugate_gradient(lambda v: jnp.asarray(matrix, jnp.float32) @ v, jnp.asarray(right, jnp.float32), 20)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("kind", "noisy"), [("gaussian", False), ("discrete", True)])
def test_a_step_stays_within_the_divergence_and_gains(rng, kind, noisy):
    network, theta, batch = problem(rng, kind, noisy)
    settings = TrpoConfig(max_kl=0.01, cg_damping=0.001)
    after, metrics = Trpo(settings, network)(theta, batch, None, rng)
    old, new = network.of(theta, batch), network.of(after, batch)
    kl = float(old.kl(new).mean())
    assert metrics["kl"] == pytest.approx(kl, rel=1e-3)
    assert 0.001 < kl <= 0.01
    gain = surrogate(new, old, batch) - batch.advantages.mean()
    assert metrics["surrogate"] == pytest.approx(float(gain), abs=1e-5)
    slope = jax.jit(jax.grad(lambda at: surrogate(network.of(at, batch), old, batch)))(theta)
    product = jax.jit(lambda vector: fisher_product(network, theta, batch, vector))
    matrix = np.stack([product(v) for v in np.eye(len(theta), dtype=np.float32)])
    natural = np.linalg.solve(matrix + 0.001 * np.eye(len(theta)), np.asarray(slope, float))
    moved = after - theta
    assert natural @ moved > 0.95 * np.linalg.norm(natural) * np.linalg.norm(moved)


def test_nothing_to_gain_changes_nothing(rng):
    network, theta, batch = problem(rng, "gaussian")
    batch = batch._replace(advantages=jnp.zeros(24))
    after, metrics = Trpo(TrpoConfig(), network)(theta, batch, None, rng)
    assert after.tobytes() == theta.tobytes()
    assert metrics["kl"] == 0.0
