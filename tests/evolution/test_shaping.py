import numpy as np
import pytest
from scipy.stats import rankdata, zscore

from bges.evolution.shaping import SHAPINGS


def test_zscore_matches_scipy(rng):
    values = rng.normal(-700, 50, 101)
    np.testing.assert_allclose(SHAPINGS["zscore"](values), zscore(values), rtol=1e-10)


def test_ranks_match_scipy_with_ties(rng):
    values = rng.integers(0, 20, 57).astype(float)
    expected = (rankdata(values) - 1) / 56 - 0.5
    np.testing.assert_allclose(SHAPINGS["ranks"](values), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["zscore", "ranks"])
@pytest.mark.parametrize("value", [0.0, -769.6, 1e9])
def test_equal_values_weigh_nothing(name, value):
    assert not SHAPINGS[name](np.full(7, value)).any()


def test_one_value_weighs_nothing_and_none_changes_nothing():
    assert SHAPINGS["zscore"](np.array([3.0])).tolist() == [0.0]
    assert abs(SHAPINGS["ranks"](np.array([3.0]))[0]) <= 0.5
    assert SHAPINGS["none"](np.array([3.0, 4.0])).tolist() == [3.0, 4.0]
