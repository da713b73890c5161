import numpy as np
import pytest

from bges.behavior import TestFunctions
from bges.config.run import RunConfig
from bges.gradient.pairs import Pairs


@pytest.mark.parametrize("solver", ["sgd", "sinkhorn"])
@pytest.mark.parametrize("beta", [1.0, -1.0])
def test_following_the_reward_moves_clouds_apart_or_together(rng, solver, beta):
    """Both surrogate rewards, by finite differences at each point, on two fixed clouds: x to the left of y."""
    x, y = rng.normal(-0.5, 0.5, size=(60, 1)), rng.normal(0.5, 0.5, size=(60, 1))
    kwargs = {"step": 1.0, "batch": 16} if solver == "sgd" else {}
    novelty = {"solver": solver, "solver_kwargs": kwargs, "features": 200, "updates": 200}
    pairs = Pairs(RunConfig.parse({"novelty": novelty}), 2)
    assert not np.any(pairs.gains([x, y]))
    pairs.fit([x, y])
    step = 0.05
    slopes = []
    for cloud in range(2):
        moved = [[points + sign * step * (i == cloud) for i, points in enumerate((x, y))] for sign in (1, -1)]
        up, down = (pairs.gains(clouds)[cloud] for clouds in moved)
        slopes.append(beta * (up - down) / (2 * step))
    after_x, after_y = x[:, 0] + 0.1 * slopes[0], y[:, 0] + 0.1 * slopes[1]
    before = y.mean() - x.mean()
    assert (after_y.mean() - after_x.mean() - before) * beta > 0.02
    assert slopes[0].mean() * beta < 0 < slopes[1].mean() * beta


def test_contributions_are_the_terms_of_the_distance(rng):
    x, y = rng.normal(size=(7, 2)), 1 + rng.normal(size=(5, 2))
    functions = TestFunctions(2, features=30)
    functions.fit(x, y)
    of_x, of_y = functions.contributions(x, y)
    f = [
        np.exp(
            functions.score_mu(x)[i] - functions.score_nu(y) - functions.cost(*map(functions.standardized, (x, y)))[i]
        )
        for i in range(7)
    ]
    np.testing.assert_allclose(of_x, functions.score_mu(x) - np.mean(f, axis=1))
    np.testing.assert_allclose(of_y, -functions.score_nu(y) - np.mean(f, axis=0))
    # The means of both hold the last term twice.
    assert of_x.mean() + of_y.mean() + np.mean(f) == pytest.approx(functions.distance(x, y))
