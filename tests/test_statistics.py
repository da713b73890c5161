import numpy as np
import pytest
from scipy import stats

from bges.statistics import bootstrap_iqm, fisher, iqm, permutation, smoothed, time_to, wilson


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 10, 11])
def test_iqm_is_the_trimmed_mean(rng, n):
    values = rng.normal(size=(7, n))
    np.testing.assert_allclose(iqm(values), stats.trim_mean(values, 0.25, axis=1))


def test_the_bootstrap_interval_is_scipys(rng):
    values = rng.normal(size=10)
    ours = bootstrap_iqm(values)
    peer = stats.bootstrap(
        (values,), lambda x, axis: stats.trim_mean(x, 0.25, axis=axis), method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    assert ours.value == pytest.approx(stats.trim_mean(values, 0.25))
    # Two independent resamplings of 5,000 and 20,000: their quantiles differ by a few hundredths.
    assert ours.low == pytest.approx(peer.low, abs=0.08)
    assert ours.high == pytest.approx(peer.high, abs=0.08)


def test_equal_values_have_no_spread():
    interval = bootstrap_iqm([-3.0] * 5)
    assert (interval.value, interval.low, interval.high) == (-3.0, -3.0, -3.0)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (1, 1), (4, 5)])
def test_wilson_is_scipys(successes, trials):
    peer = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    ours = wilson(successes, trials)
    assert ours.value == successes / trials
    assert (ours.low, ours.high) == pytest.approx((peer.low, peer.high), abs=1e-6)


def test_the_time_to_a_score_is_that_of_running_means():
    curve = {"wall_time": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "score": [0.0, 0.0, 9.0, 0.0, 0.0, 5.0, 10.0]}
    np.testing.assert_allclose(smoothed(curve["score"]), [1.8, 2.8, 4.8])
    assert time_to(curve, 2.0) == 6.0
    assert time_to(curve, 4.8) == 7.0
    assert time_to(curve, 5.0) == float("inf")
    assert time_to({"wall_time": [3.0], "score": [1.0]}, 1.0) == 3.0


@pytest.mark.parametrize("table", [(17, 20, 4, 20), (9, 10, 2, 10), (0, 5, 0, 5), (5, 5, 0, 3), (3, 10, 3, 10)])
def test_fishers_exact_test_is_scipys(table):
    yes, trials, other_yes, other_trials = table
    peer = stats.fisher_exact([[yes, trials - yes], [other_yes, other_trials - other_yes]])
    assert fisher(*table) == pytest.approx(peer.pvalue)


@pytest.mark.parametrize(("sizes", "tolerance"), [((5, 5), 1e-12), ((3, 4), 1e-12), ((10, 10), 0.01)])
def test_the_permutation_test_is_scipys(rng, sizes, tolerance):
    one, two = rng.normal(size=sizes[0]), rng.normal(0.8, 1.0, size=sizes[1])
    peer = stats.permutation_test(
        (one, two),
        lambda x, y, axis: abs(x.mean(axis=axis) - y.mean(axis=axis)),
        n_resamples=100_000,
        alternative="greater",
        vectorized=True,
        rng=rng,
    )
    assert permutation(one, two) == pytest.approx(peer.pvalue, abs=tolerance)
