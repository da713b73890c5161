import numpy as np
import pytest

from bges.evolution.archive import PolicyArchive


def filled(rng, count=40, size=1000, dim=3):
    archive = PolicyArchive(size=size, neighbors=4)
    behaviors = rng.normal(size=(count, dim)) * np.array([1.0, 10.0, 0.0])[:dim]
    numbers = [rng.normal(size=count) for _ in range(3)]
    archive.add(rng.normal(size=(count, 5)).astype(np.float32), behaviors, *numbers)
    return archive


def test_novelty_is_the_mean_distance_to_the_nearest_in_units_of_the_spread(rng):
    archive = filled(rng)
    points = archive.behaviors / np.array([archive.behaviors[:, 0].std(), archive.behaviors[:, 1].std(), 1.0])
    for row, found in enumerate(archive.novelty()):
        distances = sorted(np.linalg.norm(points - points[row], axis=1))[1:5]
        assert found == pytest.approx(np.mean(distances))


def test_one_policy_is_new(rng):
    assert filled(rng, count=1).novelty().tolist() == [1.0]


def test_of_the_two_most_alike_the_worse_goes(rng):
    """One after the other, against distances computed anew each time."""
    whole, small = filled(rng, 30), PolicyArchive(size=12, neighbors=4)
    small.add(whole.thetas, whole.behaviors, whole.scores, whole.late, whole.peaks)
    left = list(range(30))
    points = whole.behaviors / whole.spread
    while len(left) > 12:
        pairs = [(np.linalg.norm(points[i] - points[j]), i, j) for i in left for j in left if i < j]
        _, i, j = min(pairs)
        left.remove(i if whole.scores[i] <= whole.scores[j] else j)
    assert small.scores.tolist() == whole.scores[left].tolist()
    assert small.thetas.tobytes() == whole.thetas[left].tobytes()


def test_state_goes_round(rng):
    one, other = filled(rng, 20, size=25), PolicyArchive(size=25, neighbors=4)
    other.restore(one.state())
    more = filled(rng, 10)
    for archive in (one, other):
        archive.add(more.thetas, more.behaviors, more.scores, more.late, more.peaks)
    assert len(one) == 25
    for name, array in one.state().items():
        assert array.tobytes() == other.state()[name].tobytes()
