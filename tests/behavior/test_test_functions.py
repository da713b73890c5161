import numpy as np
import pytest

from bges.behavior import AdamSolver, RandomFeatures, SgdSolver, SinkhornSolver, TestFunctions, make_cost
from bges.behavior.solvers import EXPONENT_LIMIT
from bges.behavior.states import load_arrays
from bges.errors import InputError

SOLVERS = ["sgd", "adam", "sinkhorn"]


def clouds(rng, n=30, m=25, dim=2, shift=1.5):
    x, y = rng.normal(size=(n, dim)), rng.normal(size=(m, dim))
    y[:, 0] += shift
    return x, y


def same_state(first, second):
    a, b = first.state(), second.state()
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() for key in a)


@pytest.mark.parametrize("solver", SOLVERS)
def test_distance_is_the_estimator_written_out(solver, rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, solver=solver, gamma=0.6)
    functions.fit(x, y, steps=100)
    new_x, new_y = x[:7] + 0.3, y[:5] - 0.2
    total = 0.0
    for a in new_x:
        for b in new_y:
            mu, nu = functions.score_mu(a[None])[0], functions.score_nu(b[None])[0]
            cost = np.sum((functions.standardized(a[None]) - functions.standardized(b[None])) ** 2)
            total += mu - nu - 0.6 * np.exp((mu - nu - cost) / 0.6)
    assert functions.distance(new_x, new_y) == pytest.approx(total / 35, rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_distances_of_groups_are_their_distances_one_by_one(solver, rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, solver=solver)
    functions.fit(x, y)
    groups, base = rng.normal(size=(6, 3, 2)), rng.normal(size=(4, 2))
    found = functions.distances(base, groups)
    assert found.shape == (6,)
    np.testing.assert_allclose(found, [functions.distance(base, group) for group in groups], rtol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_far_from_the_past_is_more_novel(solver, rng):
    past, now = clouds(rng, n=100, m=100, shift=1.0)
    functions = TestFunctions(dim=2, solver=solver)
    functions.fit(past, now)
    near, far = np.zeros((1, 4, 2)), np.full((1, 4, 2), [3.0, 0.0])
    assert functions.distances(past[:5], far)[0] > functions.distances(past[:5], near)[0]


def test_sgd_scores_are_its_weights_on_random_features(rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, features=64, width=0.8, standardize=False, seed=9)
    functions.fit(x, y)
    features = RandomFeatures(2, 64, 0.8, seed=9)
    np.testing.assert_allclose(functions.score_mu(x), features(x) @ functions.potentials.p_mu)
    np.testing.assert_allclose(functions.score_nu(x), features(x) @ functions.potentials.p_nu)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fit_goes_on_from_the_last_one(solver, rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, solver=solver, gamma=0.3, standardize=False)
    first = functions.fit(x, y, steps=20)
    second = functions.fit(x, y, steps=20)
    assert second.value > first.value


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_inputs_same_bytes(solver, rng):
    x, y = clouds(rng)
    runs = []
    for _ in range(2):
        functions = TestFunctions(dim=2, solver=solver, seed=4)
        functions.fit(x, y)
        functions.fit(y, x + 1)
        runs.append(functions)
    assert same_state(*runs)
    assert runs[0].distances(x, y[None]).tobytes() == runs[1].distances(x, y[None]).tobytes()


def test_sgd_depends_on_the_seed_and_on_how_often_it_was_fitted(rng):
    x, y = clouds(rng)
    weights = []
    for seed in (0, 1):
        functions = TestFunctions(dim=2, seed=seed, standardize=False)
        functions.fit(x, y)
        weights.append(functions.potentials.p_mu)
    assert not np.allclose(*weights)
    again = TestFunctions(dim=2, standardize=False)
    again.fits = 1
    again.fit(x, y)
    assert not np.allclose(again.potentials.p_mu, weights[0])


@pytest.mark.parametrize(
    "solver", [SgdSolver(step=0.05, batch=4), AdamSolver(rate=0.05), SinkhornSolver(tolerance=1e-7)]
)
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_restored_halfway_it_goes_on_byte_for_byte(solver, where, rng, tmp_path):
    x, y = clouds(rng)
    z = rng.normal(2.0, 3.0, size=(20, 2))
    cost = make_cost("lp", p=1.5)
    functions = TestFunctions(dim=2, features=50, gamma=0.7, cost=cost, solver=solver, seed=3)
    functions.fit(x, y, steps=30)
    if where == "memory":
        twin = TestFunctions.from_state(functions.state())
    else:
        functions.save(tmp_path / "functions.npz")
        twin = TestFunctions.load(tmp_path / "functions.npz")
    assert same_state(functions, twin)
    assert functions.score_mu(z).tobytes() == twin.score_mu(z).tobytes()
    functions.fit(y, z, steps=30)
    twin.fit(y, z, steps=30)
    assert same_state(functions, twin)
    assert functions.distances(x, z[:, None]).tobytes() == twin.distances(x, z[:, None]).tobytes()


def test_a_state_taken_earlier_does_not_change_with_later_fits(rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2)
    functions.fit(x, y)
    before = functions.state()
    copies = {key: array.copy() for key, array in before.items()}
    functions.fit(x, y)
    assert all(np.array_equal(before[key], copies[key]) for key in before)


def test_unfitted_state_round_trip(rng):
    x, y = clouds(rng)
    twin = TestFunctions.from_state(TestFunctions(dim=2, seed=8).state())
    fresh = TestFunctions(dim=2, seed=8)
    twin.fit(x, y)
    fresh.fit(x, y)
    assert same_state(twin, fresh)


def test_states_hold_plain_arrays_only(rng, tmp_path):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2)
    functions.fit(x, y)
    assert all(array.dtype.kind in "fiU" for array in functions.state().values())
    functions.save(tmp_path / "f.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["f.npz"]
    assert load_arrays(tmp_path / "f.npz").keys() == functions.state().keys()


def chebyshev(x, y):
    return np.abs(x[:, None] - y).max(axis=2)


def test_a_users_cost_must_be_given_again(rng, tmp_path):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, cost=chebyshev, solver="sinkhorn")
    functions.fit(x, y)
    functions.save(tmp_path / "f.npz")
    with pytest.raises(InputError, match="saved cost 'chebyshev' is not built in"):
        TestFunctions.load(tmp_path / "f.npz")
    twin = TestFunctions.load(tmp_path / "f.npz", cost=chebyshev)
    assert twin.distance(x, y) == functions.distance(x, y)


def test_other_random_features_than_those_saved_are_refused(rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2)
    functions.fit(x, y)
    state = functions.state()
    state["map/check"] = state["map/check"] + 1e-9
    with pytest.raises(InputError, match="other random features"):
        TestFunctions.from_state(state)


def test_standardisation_runs_over_all_clouds_fitted(rng):
    x, y = clouds(rng)
    z = rng.normal(5.0, 4.0, size=(40, 2))
    functions = TestFunctions(dim=2)
    functions.fit(x, y)
    width = functions.width
    functions.fit(y, z)
    seen = np.concatenate([x, y, y, z])
    np.testing.assert_allclose(functions.standardized(z), (z - seen.mean(axis=0)) / seen.std(axis=0))
    assert functions.width == width


@pytest.mark.parametrize("solver", SOLVERS)
def test_units_do_not_matter_with_standardisation(solver, rng):
    x, y = clouds(rng)
    scale, origin = np.array([1000.0, 0.01]), np.array([5e4, -3.0])
    plain, scaled = TestFunctions(dim=2, solver=solver), TestFunctions(dim=2, solver=solver)
    plain.fit(x, y)
    scaled.fit(origin + scale * x, origin + scale * y)
    np.testing.assert_allclose(
        plain.score_mu(y), scaled.score_mu(origin + scale * y), atol=1e-5 * np.abs(plain.score_mu(y)).max()
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_scale_of_tens_of_metres_does_not_kill_the_functions(solver, rng):
    x, y = clouds(rng, n=100, m=100)
    x, y = 40 * x, 40 * y
    functions = TestFunctions(dim=2, solver=solver)
    result = functions.fit(x, y)
    assert functions.score_mu(x).std() > 1e-3
    assert result.clipped == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_embeddings_have_debiased_distance_zero(solver):
    for value in (0.0, 0.1, -300.7):
        x, y = np.full((10, 3), value), np.full((6, 3), value)
        functions = TestFunctions(dim=3, solver=solver)
        result = functions.fit(x, y)
        assert result.clipped == 0
        # The dual of two equal points is −γ, by its own formula.
        assert functions.distance(x, y) == pytest.approx(-1.0, abs=1e-9)
        assert functions.debiased_distance(x, y) == pytest.approx(0.0, abs=1e-9)
        assert np.isfinite(functions.distances(x, y[:, None])).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_point_clouds_and_one_constant_coordinate(solver, rng):
    x, y = clouds(rng)
    x[:, 1] = y[:, 1] = 7.0
    functions = TestFunctions(dim=2, solver=solver)
    functions.fit(x, y)
    functions.fit(x[:1], y[:1])
    assert np.isfinite(functions.distance(x, y))
    assert functions.debiased_distance(x[:1], x[:1]) == 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_debiased_distance_of_a_cloud_to_itself_is_zero_and_to_a_far_one_is_not(solver, rng):
    x, y = clouds(rng, n=60, m=60, shift=3.0)
    functions = TestFunctions(dim=2, solver=solver)
    assert functions.debiased_distance(x, x) == pytest.approx(0.0, abs=1e-9)
    assert functions.debiased_distance(x, y) > 0.01
    assert functions.fits == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_debiased_distance_of_two_samples_is_within_sampling_error(solver):
    """Samples of one law: below the smallest of those between laws a spread apart, and about 1/n."""
    same, apart = [], []
    for seed in range(10):
        rng = np.random.default_rng((1, seed))
        x, y, z = rng.normal(size=(3, 100, 2))
        z[:, 0] += 1.5
        functions = TestFunctions(dim=2, solver=solver, standardize=False)
        same.append(functions.debiased_distance(x, y))
        apart.append(functions.debiased_distance(x, z))
    assert np.mean(np.abs(same)) < 0.1 * np.mean(apart)
    assert np.max(np.abs(same)) < min(apart)


def test_debiased_distance_leaves_the_functions_alone(rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2)
    functions.fit(x, y)
    before = functions.state()
    functions.debiased_distance(x + 5, y)
    after = functions.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


def test_clipped_exponents_of_a_distance_are_counted(rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, gamma=0.01, solver=SgdSolver(step=1.0, clip=1000.0), width=3.0)
    functions.fit(x, y)
    functions.clipped = 0
    functions.potentials.p_mu[:] *= -1
    value = functions.distance(x, x)
    assert np.isfinite(value)
    expected = (
        functions.score_mu(x)[:, None]
        - functions.score_nu(x)
        - make_cost("squared_l2")(functions.standardized(x), functions.standardized(x))
    ) / 0.01
    assert functions.clipped == (expected > EXPONENT_LIMIT).sum() > 0


def test_defaults_are_those_of_the_paper():
    functions = TestFunctions(dim=2)
    assert (functions.features, functions.gamma, functions.cost.name) == (1000, 1.0, "squared_l2")
    assert functions.solver == SgdSolver(step=0.01, batch=1)
    assert functions.solver.default_steps == 100


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "dim is 0"),
        ({"features": 0}, "features is 0"),
        ({"gamma": 0.0}, "gamma is 0.0, expected a number > 0"),
        ({"gamma": -1.0}, "gamma is -1.0"),
        ({"gamma": float("nan")}, "gamma is nan"),
        ({"width": 0.0}, "width is 0.0"),
        ({"width": "mediam"}, r"width is 'mediam' \(did you mean 'median'\?\)"),
        ({"cost": "l3"}, "cost is 'l3'"),
        ({"solver": "sinkhron"}, r"solver is 'sinkhron' \(did you mean 'sinkhorn'\?\)"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        TestFunctions(**{"dim": 2, **settings})


@pytest.mark.parametrize("solver", SOLVERS)
def test_wrong_clouds_are_named(solver, rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2, solver=solver)
    with pytest.raises(InputError, match="not fitted yet"):
        functions.score_mu(x)
    with pytest.raises(InputError, match="not fitted yet"):
        functions.distance(x, y)
    functions.fit(x, y)
    broken = y.copy()
    broken[3, 1] = np.inf
    for call in (functions.fit, functions.distance, functions.debiased_distance):
        with pytest.raises(InputError, match="x is empty"):
            call(np.zeros((0, 2)), y)
        with pytest.raises(InputError, match=r"y has shape \(25, 3\), expected \(any, 2\)"):
            call(x, np.zeros((25, 3)))
        with pytest.raises(InputError, match=r"y has a non-finite value \(inf\) at \(3, 1\)"):
            call(x, broken)
    with pytest.raises(InputError, match="base is empty"):
        functions.distances(np.zeros((0, 2)), y[None])
    with pytest.raises(InputError, match="every group needs at least one point"):
        functions.distances(x, np.zeros((3, 0, 2)))
    with pytest.raises(InputError, match=r"groups has shape \(25, 2\), expected \(any, any, 2\)"):
        functions.distances(x, y)
    with pytest.raises(InputError, match="steps is 0"):
        functions.fit(x, y, steps=0)


def test_a_refused_cloud_leaves_no_trace(rng):
    x, y = clouds(rng)
    functions = TestFunctions(dim=2)
    functions.fit(x, y)
    before = functions.state()
    with pytest.raises(InputError):
        functions.fit(x, np.full((3, 2), np.nan))
    after = functions.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)
