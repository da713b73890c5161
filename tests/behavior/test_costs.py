import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bges.behavior.costs import COSTS, SquaredL2, make_cost, restore_cost, squared_distances
from bges.errors import InputError

SCIPY = {
    "squared_l2": lambda x, y: cdist(x, y, "sqeuclidean"),
    "l2": lambda x, y: cdist(x, y, "euclidean"),
    "l1": lambda x, y: cdist(x, y, "cityblock"),
    "lp": lambda x, y: cdist(x, y, "minkowski", p=3) ** 3,
    "discrete": lambda x, y: (cdist(x, y, "chebyshev") > 0).astype(float),
}


def chebyshev(x, y):
    return np.abs(x[:, None] - y).max(axis=2)


@pytest.mark.parametrize("name", sorted(COSTS))
@pytest.mark.parametrize("dim", [1, 3, 16, 17, 40])
def test_equals_scipy(name, dim, rng):
    x, y = rng.normal(size=(9, dim)), rng.normal(size=(7, dim))
    y[2] = x[4]
    cost = make_cost(name, p=3.0) if name == "lp" else make_cost(name)
    # Beyond 16 dimensions squares come from a matrix product, and the root of its rounding error is what l2 can hold.
    rounding = 1e-6 if name == "l2" and dim > 16 else 1e-12
    np.testing.assert_allclose(cost(x, y), SCIPY[name](x, y), rtol=1e-12, atol=rounding)


@pytest.mark.parametrize("dim", [2, 30])
def test_squared_distances_are_never_negative_far_from_the_origin(dim, rng):
    x = 1e6 + 1e-3 * rng.normal(size=(50, dim))
    found = squared_distances(x, x)
    assert (found >= 0).all()
    np.testing.assert_allclose(found, cdist(x, x, "sqeuclidean"), rtol=1e-4, atol=1e-12)


def test_squared_distances_over_leading_axes(rng):
    for dim in (3, 20):
        x, y = rng.normal(size=(4, 5, dim)), rng.normal(size=(6, dim))
        found = squared_distances(x, y)
        for k in range(4):
            np.testing.assert_allclose(found[k], cdist(x[k], y, "sqeuclidean"), rtol=1e-12)


def test_a_users_own_by_callable_and_by_path(rng):
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(6, 2))
    assert np.array_equal(make_cost(chebyshev)(x, y), chebyshev(x, y))
    named = make_cost("scipy.spatial.distance:cdist", metric="chebyshev")
    np.testing.assert_allclose(named(x, y), chebyshev(x, y))


def test_mistakes_are_named(rng):
    x = rng.normal(size=(5, 2))
    with pytest.raises(InputError, match=r"cost is 'squared_12' \(did you mean 'squared_l2'\?\)"):
        make_cost("squared_12")
    with pytest.raises(InputError, match="takes no arguments, got 'p'"):
        make_cost("l2", p=2)
    with pytest.raises(InputError, match=r"argument of cost lp is 'power'.*expected one of: p"):
        make_cost("lp", power=2)
    with pytest.raises(InputError, match="p of the lp cost is 0"):
        make_cost("lp", p=0)
    with pytest.raises(InputError, match="there is no module"):
        make_cost("no_such_module:cost")
    with pytest.raises(InputError, match=r"output of the cost first_row has shape \(5,\), expected \(5, 5\)"):
        make_cost(first_row)(x, x)
    with pytest.raises(InputError, match="built already"):
        make_cost(make_cost("lp"), p=3)


def first_row(x, y):
    return np.zeros(len(y))


def test_a_file_restores_built_in_costs_only():
    assert restore_cost(make_cost("lp", p=3.0).spec, None).function.p == 3.0
    assert isinstance(restore_cost(make_cost(SquaredL2()).spec, None).function, SquaredL2)
    spec = make_cost("scipy.spatial.distance:cdist").spec
    with pytest.raises(InputError, match="is not built in: pass it as cost="):
        restore_cost(spec, None)
    assert restore_cost(spec, chebyshev).function is chebyshev
