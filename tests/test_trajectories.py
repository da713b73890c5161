import numpy as np
import pytest

from bges.errors import InputError
from bges.trajectories import Trajectories


def test_recorded_arrays_are_padded_by_the_rule(rng):
    observations, actions = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 4, 1))
    rewards = rng.normal(size=(2, 4))
    made = Trajectories.from_arrays(observations=observations, actions=actions, rewards=rewards, lengths=[4, 2])
    assert np.array_equal(made.observations[0], observations[0])
    assert np.array_equal(made.observations[1, 2:], np.repeat(observations[1, 2:3], 3, axis=0))
    assert np.array_equal(made.actions[1, 1:], np.repeat(actions[1, 1:2], 3, axis=0))
    assert made.rewards[1].tolist() == [*rewards[1, :2], 0.0, 0.0]
    assert np.array_equal(made.final_observations, [observations[0, 4], observations[1, 2]])
    np.testing.assert_allclose(made.returns, [rewards[0].sum(), rewards[1, :2].sum()])


def test_a_peak_is_the_best_step_that_was_taken():
    rewards = np.array([[-3.0, -1.0, -2.0, -9.0], [-4.0, -5.0, 7.0, 7.0]])
    played = Trajectories.from_arrays(
        observations=np.zeros((2, 5, 3)), actions=np.zeros((2, 4, 1)), rewards=rewards, lengths=[4, 2]
    )
    assert played.peaks.tolist() == [-1.0, -4.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": [0, 4]}, "lengths must lie in 1..4"),
        ({"observations": np.zeros((2, 4, 3))}, "observations has shape"),
        ({"rewards": np.full((2, 4), np.nan)}, "rewards has a non-finite value"),
        ({"actions": "fast"}, "actions must be an array of numbers"),
    ],
)
def test_bad_arrays_are_refused(change, message):
    arrays = {"observations": np.zeros((2, 5, 3)), "actions": np.zeros((2, 4, 1)), "rewards": np.zeros((2, 4))}
    with pytest.raises(InputError, match=message):
        Trajectories.from_arrays(**{**arrays, **change})
