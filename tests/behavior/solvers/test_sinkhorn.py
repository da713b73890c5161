import numpy as np
import ot
import pytest
from scipy.stats import wasserstein_distance

from bges.behavior.costs import make_cost
from bges.behavior.random_features import RandomFeatures
from bges.behavior.solvers import Dual, SinkhornSolver
from bges.behavior.solvers import sinkhorn as module
from bges.errors import InputError


def make_problem(x, y, gamma, cost="squared_l2"):
    return Dual(x=x, y=y, cost=make_cost(cost), gamma=gamma, features=RandomFeatures(x.shape[1], 1))


@pytest.mark.parametrize(("n", "m"), [(30, 50), (50, 30), (1, 20), (20, 1), (1, 1), (40, 40)])
def test_potentials_solve_both_marginals(n, m, rng):
    problem = make_problem(rng.normal(size=(n, 3)), rng.normal(size=(m, 3)), 0.2)
    potentials, result = SinkhornSolver().fit(problem, None, 5000, rng)
    f = np.exp((potentials.f[:, None] + potentials.g - problem.cost(problem.x, problem.y)) / 0.2)
    assert result.converged
    assert np.abs(f.mean(axis=0) - 1).max() < 1e-6
    assert np.abs(f.mean(axis=1) - 1).max() < 1e-6
    # On the clouds themselves the soft c-transforms give the potentials back.
    np.testing.assert_allclose(potentials.mu(problem.x), potentials.f, atol=1e-7)
    np.testing.assert_allclose(potentials.nu(problem.y), -potentials.g, atol=1e-7)


def test_potentials_equal_pots_up_to_a_constant(rng):
    problem = make_problem(rng.normal(size=(40, 2)), rng.normal(size=(60, 2)), 0.5)
    potentials, _ = SinkhornSolver().fit(problem, None, 5000, rng)
    _, log = ot.sinkhorn(
        np.full(40, 1 / 40), np.full(60, 1 / 60), problem.cost(problem.x, problem.y), 0.5, stopThr=1e-13, log=True
    )
    pot = 0.5 * np.log(log["u"])
    np.testing.assert_allclose(potentials.f - potentials.f.mean(), pot - pot.mean(), atol=1e-8)


def test_plain_iterations_and_newton_agree(rng, monkeypatch):
    problem = make_problem(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), 0.3)
    _, fast = SinkhornSolver().fit(problem, None, 5000, rng)
    monkeypatch.setattr(module, "NEWTON_POINTS", 0)
    _, plain = SinkhornSolver().fit(problem, None, 50_000, rng)
    assert plain.converged
    assert fast.converged
    assert fast.steps < plain.steps
    assert fast.value == pytest.approx(plain.value, rel=1e-10)


def test_the_dual_never_falls(rng):
    problem = make_problem(rng.normal(size=(50, 4)), rng.normal(size=(50, 4)), 0.05)
    _, result = SinkhornSolver().fit(problem, None, 5000, rng)
    assert result.converged
    assert (np.diff(result.values) >= -1e-12).all()
    assert (np.diff(result.value_steps) > 0).all()


def test_a_warm_start_at_the_optimum_takes_no_steps(rng):
    problem = make_problem(rng.normal(size=(30, 2)), rng.normal(size=(20, 2)), 0.3)
    potentials, first = SinkhornSolver().fit(problem, None, 5000, rng)
    _, second = SinkhornSolver(tolerance=1e-8).fit(problem, potentials, 5000, rng)
    assert first.steps > second.steps == 0
    assert second.value == pytest.approx(first.value, rel=1e-9)


def test_a_budget_too_small_is_said(rng):
    problem = make_problem(rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), 0.05)
    _, result = SinkhornSolver().fit(problem, None, 3, rng)
    assert result.steps == 3
    assert not result.converged


def test_one_dimension_tends_to_the_exact_distance_of_scipy(rng):
    x, y = rng.normal(size=(40, 1)), rng.normal(1.0, 2.0, size=(60, 1))
    exact = wasserstein_distance(x[:, 0], y[:, 0])
    errors = []
    for gamma in (0.1, 0.01, 0.001):
        _, result = SinkhornSolver().fit(make_problem(x, y, gamma, "l2"), None, 5000, rng)
        assert result.converged
        errors.append(result.value + gamma - exact)
        # The entropy of any plan against the product of its marginals is at most that of the smaller cloud.
        assert -1e-9 < errors[-1] < gamma * np.log(40)
    assert errors[0] > errors[1] > errors[2]


def test_many_dimensions_tend_to_the_exact_distance_of_pot(rng):
    x, y = rng.normal(size=(30, 5)), rng.normal(size=(30, 5))
    problem = make_problem(x, y, 0.01)
    _, result = SinkhornSolver().fit(problem, None, 5000, rng)
    exact = ot.emd2(np.full(30, 1 / 30), np.full(30, 1 / 30), problem.cost(x, y))
    assert exact <= result.value + 0.01 + 1e-9
    # ⟨P,C⟩ + γ KL exceeds the exact cost by at most γ log n.
    assert result.value + 0.01 <= exact + 0.01 * np.log(30) + 1e-9


def test_costs_that_underflow_in_a_plain_kernel(rng):
    x, y = 100 * rng.normal(size=(25, 3)), 100 * rng.normal(size=(30, 3))
    problem = make_problem(x, y, 1.0)
    assert (np.exp(-problem.cost(x, y)).max(axis=1) == 0.0).any()
    _, result = SinkhornSolver().fit(problem, None, 5000, rng)
    exact = ot.emd2(np.full(25, 1 / 25), np.full(30, 1 / 30), problem.cost(x, y))
    assert result.converged
    assert exact <= result.value + 1.0 <= exact + np.log(30)


def test_costs_out_of_all_proportion_to_gamma_stay_finite_and_are_not_called_converged(rng):
    problem = make_problem(1e5 * rng.normal(size=(25, 3)), 1e5 * rng.normal(size=(30, 3)), 1.0)
    potentials, result = SinkhornSolver().fit(problem, None, 500, rng)
    assert np.isfinite(potentials.f).all()
    assert np.isfinite(result.value)
    assert not result.converged


def test_mistakes_are_named():
    with pytest.raises(InputError, match="tolerance is 0"):
        SinkhornSolver(tolerance=0.0)
