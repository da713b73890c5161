import numpy as np
import pytest

from bges.behavior.costs import make_cost
from bges.behavior.random_features import RandomFeatures
from bges.behavior.solvers import Dual, FeaturePotentials, SgdSolver
from bges.errors import InputError

GAMMA = 0.7


@pytest.fixture
def problem(rng):
    x, y = rng.normal(size=(4, 2)), 0.5 + rng.normal(size=(3, 2))
    features = RandomFeatures(2, 30, 1.0, seed=5)
    return Dual(x=x, y=y, cost=make_cost("squared_l2"), gamma=GAMMA, features=features)


def dual(problem, p_mu, p_nu):
    """The dual written out pair by pair."""
    total = 0.0
    for x in problem.x:
        for y in problem.y:
            a, b = problem.features(x[None])[0] @ p_mu, problem.features(y[None])[0] @ p_nu
            total += a - b - GAMMA * np.exp((a - b - np.sum((x - y) ** 2)) / GAMMA)
    return total / (len(problem.x) * len(problem.y))


def numerical_gradient(problem, p_mu, p_nu, h=1e-5):
    p = np.concatenate([p_mu, p_nu])
    gradient = np.zeros_like(p)
    for i in range(len(p)):
        for sign in (1, -1):
            moved = p.copy()
            moved[i] += sign * h
            gradient[i] += sign * dual(problem, moved[:30], moved[30:]) / (2 * h)
    return gradient


def weights(rng, features):
    return FeaturePotentials(features=features, p_mu=rng.normal(size=30), p_nu=rng.normal(size=30))


def test_the_mean_step_over_all_pairs_is_the_gradient_of_the_dual(problem, rng):
    start = weights(rng, problem.features)
    steps = []
    for x in problem.x:
        for y in problem.y:
            pair = Dual(x=x[None], y=y[None], cost=problem.cost, gamma=GAMMA, features=problem.features)
            after, _ = SgdSolver(step=0.1).fit(pair, start, 1, rng)
            steps.append(np.concatenate([after.p_mu - start.p_mu, after.p_nu - start.p_nu]) / 0.1)
    expected = numerical_gradient(problem, start.p_mu, start.p_nu)
    np.testing.assert_allclose(np.mean(steps, axis=0), expected, rtol=1e-5, atol=1e-7)


def test_steps_are_algorithm_1_written_out(problem):
    steps, alpha = 40, 0.3
    fitted, result = SgdSolver(step=alpha).fit(problem, None, steps, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    first, second = rng.integers(4, size=(steps, 1)), rng.integers(3, size=(steps, 1))
    p_mu, p_nu = np.zeros(30), np.zeros(30)
    for t in range(steps):
        x, y = problem.x[first[t, 0]], problem.y[second[t, 0]]
        phi_x, phi_y = problem.features(x[None])[0], problem.features(y[None])[0]
        f = np.exp((p_mu @ phi_x - p_nu @ phi_y - np.sum((x - y) ** 2)) / GAMMA)
        p_mu = p_mu + alpha / np.sqrt(t + 1) * (1 - f) * phi_x
        p_nu = p_nu - alpha / np.sqrt(t + 1) * (1 - f) * phi_y
    np.testing.assert_allclose(fitted.p_mu, p_mu, atol=1e-12)
    np.testing.assert_allclose(fitted.p_nu, p_nu, atol=1e-12)
    assert result.value == pytest.approx(dual(problem, p_mu, p_nu), rel=1e-9)


def test_a_batch_step_is_the_mean_of_its_pairs(problem):
    fitted, _ = SgdSolver(step=0.1, batch=5).fit(problem, None, 1, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    first, second = rng.integers(4, size=(1, 5))[0], rng.integers(3, size=(1, 5))[0]
    f = np.exp(-np.sum((problem.x[first] - problem.y[second]) ** 2, axis=1) / GAMMA)
    expected = 0.1 * ((1 - f)[:, None] * problem.features(problem.x[first])).mean(axis=0)
    np.testing.assert_allclose(fitted.p_mu, expected, atol=1e-14)


def test_the_dual_rises_and_with_the_sign_of_the_authors_demo_it_falls(rng):
    x, y = rng.normal(size=(50, 2)), np.array([2.0, 0.0]) + rng.normal(size=(50, 2))
    features = RandomFeatures(2, 200, 1.5)
    problem = Dual(x=x, y=y, cost=make_cost("squared_l2"), gamma=1.0, features=features)
    _, result = SgdSolver(step=0.1, batch=32).fit(problem, None, 200, np.random.default_rng(0))
    assert (np.diff(result.values) > 0).all()

    phi_x, phi_y = features(x), features(y)
    cost = problem.cost(x, y)
    p_mu, p_nu = np.zeros(200), np.zeros(200)
    values = []
    for t in range(200):
        at_x, at_y = phi_x @ p_mu, phi_y @ p_nu
        f = np.exp(at_x[:, None] - at_y - cost)
        values.append(at_x.mean() - at_y.mean() - f.mean())
        step = 0.1 / np.sqrt(t + 1)
        p_mu = p_mu + step * (1 - f.mean(axis=1)) @ phi_x / 50
        p_nu = p_nu + 2 * step * (1 - f.mean(axis=0)) @ phi_y / 50
    assert values[-1] < values[0] < result.values[0]
    assert (np.diff(values) < 0).all()


def test_clipped_exponents_are_counted_and_nothing_overflows(problem):
    features = problem.features
    phi_x, phi_y = features(problem.x), features(problem.y)
    p = 1e4 * phi_x.mean(axis=0)
    assert ((phi_x @ p)[:, None] + (phi_y @ p) > 1000).any()
    start = FeaturePotentials(features=features, p_mu=p, p_nu=-p)
    fitted, result = SgdSolver(step=1e-3, clip=10.0).fit(problem, start, 20, np.random.default_rng(0))
    assert result.clipped > 0
    assert not result.converged
    assert np.isfinite(fitted.p_mu).all()
    _, calm = SgdSolver().fit(problem, None, 20, np.random.default_rng(0))
    assert calm.clipped == 0


def test_diagnostics(problem):
    _, result = SgdSolver().fit(problem, None, 25, np.random.default_rng(0))
    assert result.solver == "sgd"
    assert result.steps == 25
    assert result.value_steps.tolist() == [5, 10, 15, 20, 25]
    assert result.values[-1] == result.value
    assert not result.converged
    _, long = SgdSolver(step=1.0, batch=64).fit(problem, None, 20_000, np.random.default_rng(0))
    assert long.mean_f == pytest.approx(1.0, abs=0.02)
    assert long.converged
    assert long.error < 0.05 < result.error


@pytest.mark.parametrize("settings", [{"step": 0.0}, {"batch": 0}, {"clip": -1.0}, {"tolerance": 0.0}])
def test_mistakes_are_named(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))} is"):
        SgdSolver(**settings)
