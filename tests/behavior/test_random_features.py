import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from bges.behavior.random_features import RandomFeatures, median_width
from bges.errors import InputError


@pytest.mark.parametrize("width", [0.5, 2.0])
def test_inner_products_estimate_the_rbf_kernel(width, rng):
    x, y = rng.normal(size=(15, 3)), rng.normal(size=(10, 3))
    m = 40_000
    features = RandomFeatures(3, m, width, seed=1)
    kernel = np.exp(-cdist(x, y, "sqeuclidean") / (2 * width**2))
    # Each of the m products has a variance below 1: five standard errors over 150 entries.
    assert np.abs(features(x) @ features(y).T - kernel).max() < 5 / np.sqrt(m)


def test_the_fast_cosine_is_exact_to_single_precision(rng):
    features = RandomFeatures(2, 500, 0.1)
    points = 10 * rng.normal(size=(20, 2))
    exact = np.sqrt(2 / 500) * np.cos(points @ features.frequencies.T + features.phases)
    assert np.abs(features(points) - exact).max() < 3e-7 * np.sqrt(2 / 500) * 4


def test_same_seed_same_bytes_other_seed_other_features(rng):
    points = rng.normal(size=(4, 2))
    first = RandomFeatures(2, 50, 1.0, seed=3)(points)
    assert first.tobytes() == RandomFeatures(2, 50, 1.0, seed=3)(points).tobytes()
    assert not np.allclose(first, RandomFeatures(2, 50, 1.0, seed=4)(points))


def test_median_width(rng):
    points = rng.normal(size=(100, 3))
    assert median_width(points) == pytest.approx(np.median(pdist(points)))
    assert median_width(np.ones((5, 3))) == 1.0
    assert median_width(np.ones((1, 3))) == 1.0
    large = rng.normal(size=(5000, 1))
    assert median_width(large) == pytest.approx(np.median(pdist(large[:2000])), rel=0.1)
    # Repeated points do not pull it to zero.
    assert median_width(np.array([[0.0]] * 9 + [[2.0]])) == 2.0


@pytest.mark.parametrize(("n", "episodes"), [(1000, 1), (2000, 1), (1500, 1), (2000, 2), (4000, 5)])
def test_median_width_of_antithetic_pairs_sees_both_signs(n, episodes, rng):
    """Behaviours of +ε and −ε in turn, with `episodes` rows each."""
    moved = rng.uniform(0, 10, size=(n // episodes, 1)) * np.resize([1.0, -1.0], (n // episodes, 1))
    points = np.repeat(moved, episodes, axis=0) + 0.01 * rng.normal(size=(n, 1))
    assert median_width(points) == pytest.approx(np.median(pdist(points)), rel=0.15)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0.0}, "width is 0.0"),
        ({"width": float("nan")}, "width is nan"),
        ({"features": 0}, "features is 0"),
        ({"dim": 0}, "dim is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        RandomFeatures(**{"dim": 2, **settings})
