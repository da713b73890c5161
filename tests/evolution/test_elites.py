import numpy as np

from bges.core.snapshot import Scored
from bges.evolution.elites import Elites
from bges.moments import Moments


def policy(score, iteration=0):
    return Scored(score=score, iteration=iteration, theta=np.full(3, score), moments=Moments.of(np.eye(2)))


def test_the_best_of_each_kind_of_behaviour_is_kept(rng):
    """Two groups far apart: of each the policy with the highest score, in the order of scores."""
    elites = Elites(5, separation=0.5)
    scores = rng.permutation(20).astype(float)
    for i, score in enumerate(scores):
        centre = np.array([0.0, 100.0 if i % 2 else -100.0])
        elites.offer(policy(score, i), score, centre + np.array([0.0, rng.standard_normal()]))
    kept = [found.score for found in elites.policies]
    assert kept == sorted([scores[::2].max(), scores[1::2].max()], reverse=True)


def test_no_more_than_asked_for_and_the_best_first(rng):
    elites = Elites(2, separation=0.0)
    for score in (3.0, 9.0, 1.0, 5.0):
        elites.offer(policy(score), score, rng.standard_normal(2))
    assert [found.score for found in elites.policies] == [9.0, 5.0]


def test_equal_behaviours_are_one_kind():
    elites = Elites(3, separation=0.5)
    for score in (1.0, 3.0, 2.0):
        elites.offer(policy(score), score, np.array([1.0, 2.0]))
    assert [found.score for found in elites.policies] == [3.0]


def test_state_goes_round(rng):
    one, other = Elites(3, separation=0.1), Elites(3, separation=0.1)
    other.restore(one.state())
    assert other.policies == []
    for i in range(6):
        one.offer(policy(float(i), i), float(i), rng.standard_normal(2))
    other.restore(one.state())
    late, place = policy(4.5, 9), rng.standard_normal(2)
    one.offer(late, late.score, place)
    other.offer(late, late.score, place)
    assert [(p.score, p.iteration) for p in one.policies] == [(p.score, p.iteration) for p in other.policies]
    for name, array in one.state().items():
        assert np.array_equal(array, other.state()[name])
