"""Values of the solvers against POT's entropic value on 216 random problems."""

import warnings
from itertools import product

import numpy as np
import ot
import pytest

from bges.behavior import TestFunctions, make_cost

PAIRS = 36
GAMMAS = (0.1, 1.0)
COSTS = ("squared_l2", "l2", "l1")


def clouds(index):
    """A pair of clouds: n = 20..200, d = 1..8, shift 0..3, every other pair of equal size."""
    rng = np.random.default_rng((7, index))
    dim = 1 + index % 8
    n = int(rng.integers(20, 201))
    m = n if index % 2 else int(rng.integers(20, 201))
    shift = (index % 7) / 2.0
    x, y = rng.normal(size=(n, dim)), rng.normal(size=(m, dim))
    y[:, 0] += shift
    return x, y


def pot_value(cost, gamma):
    """POT's optimum of ⟨P, C⟩ + γ KL(P | μ⊗ν), from its potentials: our dual plus γ, for its entropy has no −1."""
    n, m = cost.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan, log = ot.sinkhorn(
            np.full(n, 1 / n), np.full(m, 1 / m), cost, gamma, stopThr=1e-9, numItermax=10_000, log=True
        )
    f, g = gamma * np.log(n * log["u"]), gamma * np.log(m * log["v"])
    return f.mean() + g.mean() - gamma * plan.sum() + gamma


@pytest.mark.parametrize("index", range(PAIRS))
def test_sinkhorn_and_adam_at_their_default_budgets(index):
    x, y = clouds(index)
    for gamma, cost in product(GAMMAS, COSTS):
        expected = pot_value(make_cost(cost)(x, y), gamma)
        for solver, tolerance in (("sinkhorn", 1e-6), ("adam", 0.05)):
            functions = TestFunctions(x.shape[1], gamma=gamma, cost=cost, solver=solver, standardize=False)
            functions.fit(x, y)
            assert functions.distance(x, y) + gamma == pytest.approx(expected, rel=tolerance), (solver, gamma, cost)


@pytest.mark.parametrize("solver", ["sinkhorn", "adam"])
def test_with_standardisation_the_value_is_that_of_the_standardised_clouds(solver):
    x, y = clouds(3)
    x, y = 50 + 20 * x, 50 + 20 * y
    functions = TestFunctions(x.shape[1], solver=solver)
    functions.fit(x, y)
    together = np.concatenate([x, y])
    mean, spread = together.mean(axis=0), together.std(axis=0)
    expected = pot_value(make_cost("squared_l2")((x - mean) / spread, (y - mean) / spread), 1.0)
    assert functions.distance(x, y) + 1.0 == pytest.approx(expected, rel=1e-6 if solver == "sinkhorn" else 0.05)


def test_debiased_value_equals_pots():
    x, y = clouds(5)
    functions = TestFunctions(x.shape[1], solver="sinkhorn", standardize=False)
    cost = make_cost("squared_l2")
    cross, self_x, self_y = (pot_value(cost(a, b), 1.0) for a, b in ((x, y), (x, x), (y, y)))
    assert functions.debiased_distance(x, y) == pytest.approx(cross - self_x / 2 - self_y / 2, rel=1e-6)
