import numpy as np
import pytest

from bges.behavior import TestFunctions, make_embedding, score_points
from bges.errors import InputError
from bges.trajectories import Trajectories


def episodes(rng, drift, n=40):
    """Walks that drift along x."""
    steps = np.array([drift, 0.0]) + rng.normal(size=(n, 10, 2))
    states = np.concatenate([np.zeros((n, 1, 2)), np.cumsum(steps, axis=1)], axis=1)
    return Trajectories.from_arrays(observations=states, actions=steps, rewards=-np.abs(steps[:, :, 0]))


@pytest.mark.parametrize("solver", ["sgd", "adam", "sinkhorn"])
def test_saved_functions_tell_two_policies_apart(solver, rng, tmp_path):
    embedding = make_embedding("final_state")
    functions = TestFunctions(dim=2, solver=solver)
    functions.fit(embedding(episodes(rng, 0.0)), embedding(episodes(rng, 1.0)))
    functions.save(tmp_path / "functions.npz")
    loaded = TestFunctions.load(tmp_path / "functions.npz")
    like_mu = score_points(loaded, embedding(episodes(rng, 0.0))).resemblance
    like_nu = score_points(loaded, embedding(episodes(rng, 1.0))).resemblance
    # The area under the ROC curve of the score.
    assert (like_mu[:, None] > like_nu).mean() > 0.95


def test_ranking_is_by_resemblance(rng):
    functions = TestFunctions(dim=1, solver="sinkhorn")
    functions.fit(rng.normal(size=(50, 1)), 4 + rng.normal(size=(50, 1)))
    scores = score_points(functions, np.array([[4.0], [0.0], [2.0], [2.0]]))
    assert scores.ranking.tolist() == [1, 2, 3, 0]
    np.testing.assert_allclose(scores.resemblance, (scores.mu + scores.nu) / 2)


def test_mistakes_are_named(rng):
    functions = TestFunctions(dim=3)
    points = rng.normal(size=(5, 3))
    with pytest.raises(InputError, match="not fitted"):
        score_points(functions, points)
    functions.fit(points, points + 1)
    with pytest.raises(InputError, match="points is empty"):
        score_points(functions, np.zeros((0, 3)))
    with pytest.raises(InputError, match=r"points has shape \(5, 2\), expected \(any, 3\)"):
        score_points(functions, np.zeros((5, 2)))
