import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bges.behavior import RandomFeatures, TestFunctions
from bges.behavior.solvers import SinkhornSolver
from bges.behavior.solvers.base import FeaturePotentials
from bges.config.gradient import BgpgConfig
from bges.gradient.penalty import MU, NU, Cloud, FeatureMap, Penalty, cosine


def cloud(points, states=None, weights=None):
    points = jnp.asarray(points)
    count, size, _ = points.shape
    states = jnp.zeros((count, 0)) if states is None else jnp.asarray(states)
    weights = jnp.full((count, size), 1.0 / size) if weights is None else jnp.asarray(weights)
    return Cloud(points, states, jnp.log(weights))


def settings(**changes):
    return BgpgConfig(**({"debias": False, "dual": "adam"} | changes))


def test_the_fast_cosine_is_one(rng):
    turns = rng.uniform(-30, 30, 10_000)
    np.testing.assert_allclose(cosine(jnp.asarray(turns, jnp.float32)), np.cos(2 * np.pi * turns), atol=1e-4)
    slope = jax.vmap(jax.grad(cosine))(jnp.asarray(turns % 1, jnp.float32))
    np.testing.assert_allclose(slope, -2 * np.pi * np.sin(2 * np.pi * turns), atol=2e-3)


def test_features_are_those_of_bges_behavior(rng):
    made, points = RandomFeatures(4, 30, 0.7, seed=3), rng.standard_normal((5, 6, 2))
    states = rng.standard_normal((5, 2))
    phi = FeatureMap.of(made)(cloud(points, states))
    rows = np.concatenate([points, np.repeat(states[:, None], 6, axis=1)], axis=2)
    np.testing.assert_allclose(phi.reshape(30, 30), made(rows.reshape(30, 4)), atol=1e-4)


@pytest.mark.parametrize("pairs", ["product", "per_state"])
def test_the_dual_of_one_state_is_that_of_test_functions(rng, pairs):
    x, y = rng.standard_normal((1, 12, 3)), rng.standard_normal((1, 9, 3)) + 0.5
    functions = TestFunctions(3, 20, 1.2, gamma=0.7, standardize=False, solver="adam", seed=1)
    result = functions.fit(3**-0.5 * x[0], 3**-0.5 * y[0], 50)
    potentials = functions.potentials
    assert isinstance(potentials, FeaturePotentials)
    weights = jnp.asarray(np.stack([potentials.p_mu, potentials.p_nu, np.zeros(20), np.zeros(20)]))
    # The cost is divided by the dimension, so both see the same points.
    penalty = Penalty(settings(gamma=0.7, pairs=pairs), 1.0)
    scaled = [cloud(3**-0.5 * c) for c in (x, y)]
    value, _ = jax.jit(penalty.value)(*scaled, weights, FeatureMap.of(functions.feature_map))
    assert float(value) == pytest.approx(result.value, abs=1e-4)
    plain = Penalty(settings(gamma=0.7, dual="sgd"), 1.0)
    at = [
        phi @ weights[row] for phi, row in zip(map(FeatureMap.of(functions.feature_map), scaled), (MU, NU), strict=True)
    ]
    at[0] = at[0] + potentials.offset
    value, clipped = plain.dual(*at, plain.cost(*scaled), *(c.log_weights for c in scaled))
    assert float(value) == pytest.approx(functions.distance(3**-0.5 * x[0], 3**-0.5 * y[0]), abs=1e-4)
    assert int(clipped) == 0


def sinkhorn(x, y, gamma):
    functions = TestFunctions(x.shape[1], 1, 1.0, gamma, standardize=False, solver=SinkhornSolver())
    return functions.fit(x, y).value


def test_sinkhorn_is_the_mean_of_every_states_own_distance(rng):
    x, y = rng.standard_normal((2, 4, 8, 2))
    penalty = Penalty(settings(dual="sinkhorn", gamma=0.8, sinkhorn_steps=200), 2.0)
    value, _ = jax.jit(penalty.value)(cloud(x), cloud(y))
    expected = np.mean([sinkhorn(a / 2**0.5, b / 2**0.5, 0.8) for a, b in zip(x, y, strict=True)])
    assert float(value) == pytest.approx(expected, rel=1e-3)


def test_weights_count_as_repeated_points(rng):
    x, y = rng.standard_normal((2, 1, 4, 2))
    weights = np.array([[0.5, 0.25, 0.125, 0.125]])
    penalty = Penalty(settings(dual="sinkhorn", gamma=0.8, sinkhorn_steps=200), 1.0)
    value, _ = jax.jit(penalty.value)(cloud(x, weights=weights), cloud(y))
    repeated = np.repeat(x[0], (4, 2, 1, 1), axis=0)
    assert float(value) == pytest.approx(sinkhorn(repeated, y[0], 0.8), rel=1e-3)


def test_ascent_on_the_log_sum_exp_dual_reaches_sinkhorns_value(rng):
    x, y = rng.standard_normal((1, 40, 2)), rng.normal((1.0, 0.0), 1.0, (1, 40, 2))
    penalty, features = Penalty(settings(features=200), 1.0), FeatureMap.of(RandomFeatures(2, 200, 1.5, 0))
    clouds = cloud(x), cloud(y)
    slope = jax.jit(jax.value_and_grad(lambda w: penalty.value(*clouds, w, features)[0]))
    rise, weights = optax.adam(0.1), jnp.zeros((4, 200))
    state = rise.init(weights)
    for _ in range(300):
        value, gradient = slope(weights)
        change, state = rise.update(-Penalty.ascent(gradient), state)
        weights = weights + change
    # The dual is the distance less γ; relative to the distance, a few per cent.
    exact = sinkhorn(x[0], y[0], 1.0)
    assert float(value) <= exact + 1e-4
    assert float(value) + 1.0 == pytest.approx(exact + 1.0, rel=0.05)


@pytest.mark.parametrize(
    ("dual", "pairs"), [("sinkhorn", "per_state"), ("adam", "per_state"), ("adam", "product"), ("sgd", "product")]
)
def test_equal_clouds_are_at_distance_zero_once_debiased(rng, dual, pairs):
    penalty = Penalty(settings(dual=dual, pairs=pairs, debias=True, features=10), 2.0)
    x, own = rng.standard_normal((6, 5, 2)), 0.1 * rng.standard_normal(10)
    functions = jnp.asarray(np.stack([own, -own, own, own])), FeatureMap.of(RandomFeatures(2, 10, 1.0, 0))

    def value(points):
        return penalty.value(cloud(x), cloud(points), *(functions if dual != "sinkhorn" else ()))[0]

    distance, slope = jax.jit(jax.value_and_grad(value))(jnp.asarray(x))
    assert float(distance) == pytest.approx(0.0, abs=1e-5)
    if pairs != "product":
        np.testing.assert_allclose(slope, 0.0, atol=1e-5)


def test_test_functions_of_every_term_climb_their_own_dual(rng):
    penalty, features = Penalty(settings(debias=True, features=10), 1.0), FeatureMap.of(RandomFeatures(2, 10, 1.0, 0))
    x, y = (cloud(c) for c in rng.standard_normal((2, 3, 5, 2)))
    weights = jnp.asarray(0.3 * rng.standard_normal((4, 10)))
    rise = Penalty.ascent(jax.jit(jax.grad(lambda w: penalty.value(x, y, w, features)[0]))(weights))
    phi_x, phi_y = features(x), features(y)

    def duals(w):
        cross = penalty.dual(phi_x @ w[0], phi_y @ w[1], penalty.cost(x, y), x.log_weights, y.log_weights)[0]
        own_x = penalty.dual(phi_x @ w[2], -phi_x @ w[2], penalty.cost(x, x), x.log_weights, x.log_weights)[0]
        own_y = penalty.dual(phi_y @ w[3], -phi_y @ w[3], penalty.cost(y, y), y.log_weights, y.log_weights)[0]
        return cross + own_x + own_y

    np.testing.assert_allclose(rise, jax.jit(jax.grad(duals))(weights), rtol=1e-4, atol=1e-6)


def test_algorithm_1_is_the_gradient_of_its_dual(rng):
    penalty, features = Penalty(settings(dual="sgd", features=10), 1.0), FeatureMap.of(RandomFeatures(2, 10, 1.0, 0))
    x, y = (cloud(c) for c in rng.standard_normal((2, 7, 1, 2)))
    weights = jnp.asarray(0.3 * rng.standard_normal((4, 10)))
    gradient = jax.jit(jax.grad(lambda w: penalty.value(x, y, w, features)[0]))(weights)
    phi_x, phi_y = features(x)[:, 0], features(y)[:, 0]
    f = jnp.exp(phi_x @ weights[MU] - phi_y @ weights[NU] - jnp.square(x.points - y.points).sum((1, 2)))
    np.testing.assert_allclose(gradient[MU], ((1 - f)[:, None] * phi_x).mean(0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradient[NU], -((1 - f)[:, None] * phi_y).mean(0), rtol=1e-4, atol=1e-6)


def test_cut_exponents_are_counted(rng):
    penalty = Penalty(settings(dual="sgd", gamma=0.01), 1.0)
    at = jnp.array([[1.0]])
    value, clipped = penalty.dual(at, -at, jnp.zeros((1, 1, 1)), jnp.zeros((1, 1)), jnp.zeros((1, 1)))
    assert int(clipped) == 1
    assert np.isfinite(value)
