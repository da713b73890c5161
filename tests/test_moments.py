from itertools import pairwise

import numpy as np
import pytest

from bges.moments import Moments


def test_merging_in_any_grouping_equals_all_at_once(rng):
    rows = rng.normal(5.0, [1.0, 1e-3, 100.0], (101, 3))
    cuts = [0, 1, 1, 40, 41, 101]
    merged = Moments.empty(3)
    for start, stop in pairwise(cuts):
        merged = merged.merge(Moments.of(rows[start:stop]))
    assert merged.count == 101
    np.testing.assert_allclose(merged.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(merged.std, rows.std(axis=0), rtol=1e-9)


def test_large_offset_keeps_the_variance():
    rows = 1e8 + np.arange(1000.0)[:, None]
    halves = Moments.of(rows[:500]).merge(Moments.of(rows[500:]))
    np.testing.assert_allclose(halves.std, np.arange(1000.0).std(), rtol=1e-6)


def test_what_never_varied_is_left_alone():
    moments = Moments.of(np.full((10, 2), 3.0))
    assert moments.std.tolist() == [1.0, 1.0]
    assert moments.standardize([[3.0, 4.0]]).tolist() == [[0.0, 1.0]]
    assert Moments.empty(1).standardize([[2.0]]).tolist() == [[2.0]]


def test_arrays_restore_the_same_moments(rng):
    moments = Moments.of(rng.normal(size=(7, 2)))
    again = Moments.from_arrays(moments.to_arrays())
    more = Moments.of(rng.normal(size=(3, 2)))
    assert again.merge(more).m2.tobytes() == moments.merge(more).m2.tobytes()


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e-9])
def test_a_constant_coordinate_is_not_blown_up(value):
    moments = Moments.empty(1)
    for n in (3, 7, 1000):
        moments = moments.merge(Moments.of(np.full((n, 1), value)))
    assert moments.std[0] == 1.0
    assert abs(moments.standardize([[value]])[0, 0]) <= 1e-12 * abs(value)


def test_a_small_real_spread_is_kept(rng):
    moments = Moments.of(1.0 + 1e-6 * rng.normal(size=(100, 1)))
    assert moments.std[0] == pytest.approx(1e-6, rel=0.3)
