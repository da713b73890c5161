import numpy as np
import pytest

from bges.behavior import TestFunctions, make_solver
from bges.evolution.parts import make_parts, num_members
from bges.randomness import Stream, generator

from .conftest import small_config


def make_novelty(config):
    return make_parts(config, np.zeros((num_members(config), 5)), None)[0]


def clouds(rng, iterations=4, n=6, e=2, d=3):
    return [(rng.normal(size=(n, e, d)), rng.normal(size=(4, d))) for _ in range(iterations)]


@pytest.mark.parametrize("fit_to", ["last", "base"])
def test_wasserstein_novelty_is_the_test_functions_fed_as_stated(rng, fit_to):
    """Fit on the past and the present population; score each against the last base policies, past first."""
    config = small_config({"novelty": {"base_policies": 2, "fit_to": fit_to}})
    novelty, seen = make_novelty(config), clouds(rng)
    seed = int(generator(config.seed, Stream.TEST_FUNCTIONS).integers(2**63))
    functions = TestFunctions(3, features=50, solver=make_solver("sgd"), seed=seed)
    for t, (embeddings, unperturbed) in enumerate(seen):
        scores = novelty.score(t, embeddings, unperturbed)
        if t == 0:
            assert scores is None
            continue
        base = np.concatenate([own for _, own in seen[max(t - 2, 0) : t]])
        past = base if fit_to == "base" else seen[t - 1][0].reshape(-1, 3)
        functions.fit(past, embeddings.reshape(-1, 3), steps=20)
        expected = [functions.distance(base, group) for group in embeddings]
        np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_l2_novelty_is_the_mean_distance(rng):
    config = small_config({"novelty": {"name": "l2", "base_policies": 1}, "embedding": {"standardize": False}})
    novelty, seen = make_novelty(config), clouds(rng)
    assert novelty.score(0, *seen[0]) is None
    scores = novelty.score(1, *seen[1])
    expected = [np.mean([[np.linalg.norm(x - y) for y in seen[0][1]] for x in group]) for group in seen[1][0]]
    np.testing.assert_allclose(scores, expected)


def test_archive_novelty_is_the_distance_to_the_nearest(rng):
    config = small_config({"algorithm": "nsres", "nsres": {"neighbors": 1}})
    novelty, seen = make_novelty(config), clouds(rng, e=1)
    embeddings, unperturbed = seen[0]
    embeddings[0, 0] = unperturbed.mean(axis=0)
    novelty.hear(unperturbed)
    scores = novelty.score(0, embeddings, unperturbed)
    assert scores[0] == pytest.approx(0.0, abs=1e-12)
    expected = np.linalg.norm(embeddings[:, 0] - unperturbed.mean(axis=0), axis=1)
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_random_novelty_depends_on_seed_and_iteration_only(rng):
    config = small_config({"novelty": {"name": "random"}})
    seen = clouds(rng)
    one, other = make_novelty(config), make_novelty(config)
    assert np.array_equal(one.score(3, *seen[0]), other.score(3, *seen[1]))
    assert not np.array_equal(one.score(3, *seen[0]), one.score(4, *seen[0]))


def test_es_has_none():
    assert make_novelty(small_config({"algorithm": "es"})) is None
