import numpy as np
import pytest

from bges.behavior import Divergence, SinkhornSolver, TestFunctions, make_distance, restore_distance
from bges.errors import InputError

NAMES = ["wasserstein", "hellinger", "jensen_shannon", "kl", "total_variation"]


@pytest.mark.parametrize("name", NAMES)
def test_one_call_for_all_of_them(name, rng):
    past, now = rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 1
    distance = make_distance(name, dim=3)
    distance.fit(past, now, steps=100)
    novelty = distance.distances(past[:4], now.reshape(20, 2, 3))
    assert novelty.shape == (20,)
    assert np.isfinite(novelty).all()
    twin = restore_distance(distance.state())
    assert type(twin) is type(distance)
    assert twin.distances(past[:4], now.reshape(20, 2, 3)).tobytes() == novelty.tobytes()
    assert twin.clipped == 0


def test_arguments_reach_the_class():
    distance = make_distance("wasserstein", dim=3, gamma=0.2, solver=SinkhornSolver(), features=10)
    assert isinstance(distance, TestFunctions)
    assert (distance.gamma, distance.features, distance.solver.name) == (0.2, 10, "sinkhorn")
    assert make_distance("kl", dim=3, bandwidth=0.3).bandwidth == 0.3
    assert isinstance(make_distance("kl", dim=3), Divergence)


def test_mistakes_are_named():
    with pytest.raises(InputError, match=r"distance is 'waserstein' \(did you mean 'wasserstein'\?\)"):
        make_distance("waserstein", dim=2)
    with pytest.raises(InputError, match=r"argument of distance wasserstein is 'gama' \(did you mean 'gamma'\?\)"):
        make_distance("wasserstein", dim=2, gama=1.0)
    with pytest.raises(InputError, match="argument of distance kl is 'gamma'"):
        make_distance("kl", dim=2, gamma=1.0)
    with pytest.raises(InputError, match="needs the argument 'dim'"):
        make_distance("kl")
    with pytest.raises(InputError, match="not the saved state"):
        restore_distance({})
