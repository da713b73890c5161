import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gaussian_kde, norm

from bges.behavior.divergences import FORMULAS, Divergence
from bges.errors import InputError

NAMES = sorted(FORMULAS)


def limit(name, shift, bandwidth):
    """What the estimate tends to with ever more points: blurred densities, points of the laws themselves."""
    spread = np.sqrt(1 + bandwidth**2)

    def mean(law, function):
        return quad(lambda t: law.pdf(t) * function(ratio(t)), -9, 11, limit=400)[0]

    def ratio(t):
        return norm(shift, spread).logpdf(t) - norm(0, spread).logpdf(t)

    p, q = norm(0, 1), norm(shift, 1)
    if name == "kl":
        return mean(q, lambda r: r)
    if name == "hellinger":
        return np.sqrt(1 - (mean(p, lambda r: 1 / np.cosh(r / 2)) + mean(q, lambda r: 1 / np.cosh(r / 2))) / 2)
    if name == "total_variation":
        return (mean(p, lambda r: abs(np.tanh(r / 2))) + mean(q, lambda r: abs(np.tanh(r / 2)))) / 2
    base = mean(p, lambda r: np.log(2) - np.logaddexp(0, r))
    return (base + mean(q, lambda r: np.log(2) - np.logaddexp(0, -r))) / 2


@pytest.mark.parametrize(
    ("name", "tolerance"), [("kl", 0.2), ("hellinger", 0.1), ("jensen_shannon", 0.1), ("total_variation", 0.1)]
)
def test_tends_to_the_divergence_of_the_laws_with_many_points(name, tolerance):
    """Mean over six draws; KL lives in the tails, where few points estimate the base's density from below."""
    expected, found = limit(name, 1.0, 0.25), []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(2000, 1)), 1.0 + rng.normal(size=(2000, 1))
        fitted = Divergence(name, 1, bandwidth=0.25, standardize=False)
        fitted.fit(x, y)
        found.append(fitted.distance(x, y))
    assert np.mean(found) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_log_ratio_is_that_of_scipys_kernel_densities(name, rng):
    x, y = rng.normal(size=(20, 1)), 1 + rng.normal(size=(15, 1))
    h = 0.8

    def log_density(cloud, points):
        return gaussian_kde(cloud[:, 0], bw_method=h / cloud.std(ddof=1)).logpdf(points[:, 0])

    at_base = log_density(y, x) - log_density(x, x)
    at_group = log_density(y, y) - log_density(x, y)
    expected = FORMULAS[name](at_base[None], at_group[None])[0]
    fitted = Divergence(name, 1, bandwidth=h, standardize=False)
    fitted.fit(x, y)
    assert fitted.distance(x, y) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_distances_of_groups_are_their_distances_one_by_one(name, rng):
    for dim in (2, 30):
        x, y = rng.normal(size=(30, dim)), rng.normal(size=(20, dim))
        fitted = Divergence(name, dim)
        fitted.fit(x, y)
        groups, base = rng.normal(size=(5, 3, dim)), rng.normal(size=(4, dim))
        np.testing.assert_allclose(
            fitted.distances(base, groups), [fitted.distance(base, group) for group in groups], rtol=1e-9
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dim", [1, 3, 50])
def test_single_points_rank_by_how_far_they_are(name, dim, rng):
    base = rng.normal(size=(50, dim))
    fitted = Divergence(name, dim)
    fitted.fit(base, rng.normal(size=(50, dim)))
    groups = np.array([0.0, 2.0, 4.0])[:, None, None] * np.ones((1, 1, dim))
    found = fitted.distances(base, groups)
    assert found[0] < found[1] < found[2]


@pytest.mark.parametrize("name", NAMES)
def test_far_apart_stays_finite(name):
    x, y = np.zeros((3, 1)), np.full((3, 1), 1e6)
    fitted = Divergence(name, 1, bandwidth=1.0, standardize=False)
    fitted.fit(x, y)
    limit = {"kl": 5e11, "hellinger": 1.0, "total_variation": 1.0, "jensen_shannon": np.log(2)}[name]
    assert fitted.distance(x, y) == pytest.approx(limit)


@pytest.mark.parametrize("name", NAMES)
def test_constant_embeddings_have_distance_zero(name):
    x, y = np.full((5, 2), 0.1), np.full((4, 2), 0.1)
    fitted = Divergence(name, 2)
    fitted.fit(x, y)
    assert fitted.distance(x, y) == pytest.approx(0.0, abs=1e-12)


def test_bandwidth_is_the_median_distance_at_scotts_rate(rng):
    x, y = rng.normal(size=(300, 1)), rng.normal(size=(200, 1))
    fitted = Divergence("kl", 1)
    fitted.fit(x, y)
    # The median distance of two standard normal draws is 0.954.
    assert fitted.bandwidth == pytest.approx(0.954 * 500**-0.2, rel=0.1)
    kept = fitted.bandwidth
    fitted.fit(10 * x, y)
    assert fitted.bandwidth == kept


def test_state_round_trip_goes_on_byte_for_byte(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    fitted = Divergence("jensen_shannon", 2)
    fitted.fit(x, y)
    twin = Divergence.from_state(fitted.state())
    for each in (fitted, twin):
        each.fit(y, 3 * x)
    assert fitted.distances(x, y[:, None]).tobytes() == twin.distances(x, y[:, None]).tobytes()


def test_mistakes_are_named(rng):
    with pytest.raises(InputError, match=r"divergence is 'helinger' \(did you mean 'hellinger'\?\)"):
        Divergence("helinger", 2)
    with pytest.raises(InputError, match="bandwidth is 0"):
        Divergence("kl", 2, bandwidth=0.0)
    fitted = Divergence("kl", 2)
    with pytest.raises(InputError, match="not known before the first fit"):
        fitted.distance(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(InputError, match="x is empty"):
        fitted.fit(np.zeros((0, 2)), np.zeros((2, 2)))
    with pytest.raises(InputError, match="y has shape"):
        fitted.fit(np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(InputError, match="non-finite"):
        fitted.fit(np.zeros((2, 2)), np.full((2, 2), np.nan))
