import numpy as np
import pytest
from scipy import stats

from bges.bench.statistics import bootstrap_iqm, iqm, smoothed, time_to, wilson


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
