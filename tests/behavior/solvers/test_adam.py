import numpy as np
import pytest

from bges.behavior.costs import make_cost
from bges.behavior.random_features import RandomFeatures
from bges.behavior.solvers import AdamSolver, Dual, SinkhornSolver
from bges.behavior.solvers.adam import _dual, _whiten
from bges.errors import InputError


def make_problem(rng, n=40, m=30, features=200, gamma=0.5, width=1.5):
    x, y = rng.normal(size=(n, 2)), np.array([1.0, 0.0]) + rng.normal(size=(m, 2))
    return Dual(x=x, y=y, cost=make_cost("squared_l2"), gamma=gamma, features=RandomFeatures(2, features, width))


def test_gradient_against_finite_differences(rng):
    at_x, at_y, cost, gamma, h = rng.normal(size=5), rng.normal(size=4), rng.uniform(size=(5, 4)), 0.3, 1e-6
    value, log_mean, in_x, in_y = _dual(at_x, at_y, cost, gamma)
    direct = np.exp((at_x[:, None] - at_y - cost) / gamma).mean()
    assert log_mean == pytest.approx(np.log(direct))
    assert value == pytest.approx(at_x.mean() - at_y.mean() - gamma * np.log(direct) - gamma)
    for i in range(5):
        e = h * np.eye(5)[i]
        slope = (_dual(at_x + e, at_y, cost, gamma)[0] - _dual(at_x - e, at_y, cost, gamma)[0]) / (2 * h)
        assert in_x[i] == pytest.approx(slope, abs=1e-7)
    for j in range(4):
        e = h * np.eye(4)[j]
        slope = (_dual(at_x, at_y + e, cost, gamma)[0] - _dual(at_x, at_y - e, cost, gamma)[0]) / (2 * h)
        assert -in_y[j] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize(("n", "m"), [(20, 50), (50, 20)])
def test_whitened_values_are_those_of_the_weights(n, m, rng):
    phi = rng.normal(size=(n, m))
    values, weights = _whiten(phi)
    np.testing.assert_allclose(phi @ weights, values, atol=1e-8)
    product = values.T @ values
    np.testing.assert_allclose(product, np.diag(np.diag(product)), atol=1e-9)
    # The ridge is a tenth of the total variance of unit features, next to nothing of these larger ones.
    strong = np.linalg.svd(100 * phi, compute_uv=False).min()
    values, _ = _whiten(100 * phi)
    assert np.diag(values.T @ values).min() == pytest.approx(strong**2 / (strong**2 + 0.1 * n))


def test_close_to_the_optimum_and_at_the_plain_dual_too(rng):
    problem = make_problem(rng)
    potentials, result = AdamSolver().fit(problem, None, 300, rng)
    _, exact = SinkhornSolver().fit(problem, None, 5000, rng)
    assert exact.value - 0.01 * (exact.value + problem.gamma) < result.value <= exact.value + 1e-9
    f = np.exp(
        (potentials.mu(problem.x)[:, None] - potentials.nu(problem.y) - problem.cost(problem.x, problem.y))
        / problem.gamma
    )
    # The offset makes the weights a maximiser of the dual without the logarithm.
    assert f.mean() == pytest.approx(1.0, abs=1e-6)
    assert result.converged
    assert result.error == pytest.approx(np.abs(f.mean(axis=1) - 1).mean(), abs=0.02)
    assert result.values[0] < result.values[-1] == result.value
    assert result.value_steps[-1] == result.steps == 300


def test_more_points_than_features(rng):
    problem = make_problem(rng, n=120, m=100, features=60, gamma=1.0)
    _, result = AdamSolver().fit(problem, None, 300, rng)
    _, exact = SinkhornSolver().fit(problem, None, 5000, rng)
    assert result.value + 1.0 == pytest.approx(exact.value + 1.0, rel=0.02)


def test_huge_exponents_do_not_overflow(rng):
    problem = make_problem(rng, gamma=1e-4)
    potentials, result = AdamSolver().fit(problem, None, 50, rng)
    assert np.isfinite(result.value)
    assert np.isfinite(potentials.p_mu).all()


@pytest.mark.parametrize("settings", [{"rate": 0.0}, {"tolerance": -1.0}])
def test_mistakes_are_named(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))} is"):
        AdamSolver(**settings)
