import cloudpickle
import numpy as np
import pytest

from bges.behavior.embeddings import EMBEDDINGS, make_embedding
from bges.errors import InputError
from bges.trajectories import Trajectories

H = 6
OF_EPISODES = sorted(EMBEDDINGS.keys() - {"probe_actions"})


@pytest.fixture
def episodes(rng):
    """Three episodes of a finite MDP with 4 states and 3 actions beside real-valued ones, one of them cut short."""
    observations = rng.normal(size=(3, H + 1, 2))
    observations[:, :, 0] = rng.integers(4, size=(3, H + 1))
    actions = rng.integers(3, size=(3, H, 1)).astype(float)
    return Trajectories.from_arrays(
        observations=observations, actions=actions, rewards=rng.normal(size=(3, H)), lengths=[H, 2, H]
    )


def settings_of(name):
    return {"states": 4, "actions": 3} if name == "visitation" else {}


def without(trajectories, needs):
    return Trajectories(
        rewards=trajectories.rewards,
        lengths=trajectories.lengths,
        final_observations=trajectories.final_observations,
        kept_observations=trajectories.kept_observations if "observations" in needs else None,
        kept_actions=trajectories.kept_actions if "actions" in needs else None,
    )


@pytest.mark.parametrize("name", OF_EPISODES)
def test_each_gives_finite_rows_from_what_it_needs_and_nothing_more(name, episodes):
    embedding = make_embedding(name, **settings_of(name))
    points = embedding(episodes)
    assert points.dtype == np.float64
    assert points.shape == (3, embedding.dim)
    assert np.array_equal(embedding(without(episodes, embedding.needs)), points)
    for part in embedding.needs:
        with pytest.raises(InputError, match=f"without keeping {part}"):
            embedding(without(episodes, embedding.needs - {part}))


@pytest.mark.parametrize("name", OF_EPISODES)
def test_what_comes_after_an_early_end_never_matters(name, rng):
    arrays = {
        "observations": rng.integers(4, size=(1, H + 1, 1)).astype(float),
        "actions": rng.integers(3, size=(1, H, 1)).astype(float),
        "rewards": rng.normal(size=(1, H)),
    }
    embedding = make_embedding(name, **settings_of(name))
    before = embedding(Trajectories.from_arrays(**arrays, lengths=[3]))
    arrays["observations"][:, 4:] = 1.0
    arrays["actions"][:, 3:] = 2.0
    arrays["rewards"][:, 3:] = 100.0
    assert np.array_equal(embedding(Trajectories.from_arrays(**arrays, lengths=[3])), before)


def test_final_state_of_an_early_end_is_where_it_ended(episodes):
    points = make_embedding("final_state")(episodes)
    assert np.array_equal(points[1], episodes.observations[1, 2])
    assert np.array_equal(points[0], episodes.observations[0, H])
    assert np.array_equal(make_embedding("final_state", indices=[1])(episodes), points[:, 1:])


def test_state_vector_and_actions_repeat_the_last_entry(episodes):
    states = make_embedding("state_vector")(episodes).reshape(3, H + 1, 2)
    assert np.array_equal(states, episodes.observations)
    assert (states[1, 2:] == states[1, 2]).all()
    actions = make_embedding("actions")(episodes).reshape(3, H, 1)
    assert (actions[1, 1:] == actions[1, 1]).all()
    assert make_embedding("state_vector", indices=[1])(episodes).shape == (3, H + 1)


def test_reward_to_go_by_the_papers_sum(episodes):
    points = make_embedding("reward_to_go")(episodes)
    expected = np.zeros((3, H))
    for t in range(H):
        expected[:, : t + 1] += episodes.rewards[:, t, None]
    np.testing.assert_allclose(points, expected)
    assert (points[1, 2:] == 0).all()
    np.testing.assert_allclose(make_embedding("total_reward")(episodes)[:, 0], points[:, 0])


def test_mean_displacement_by_hand():
    observations = np.zeros((2, 4, 2))
    observations[0, :, 1] = [5.0, 6.0, 8.0, 5.0]
    observations[1, :, 1] = [0.0, 2.0, 4.0, 100.0]
    episodes = Trajectories.from_arrays(
        observations=observations, actions=np.zeros((2, 3, 1)), rewards=np.zeros((2, 3)), lengths=[3, 2]
    )
    assert make_embedding("mean_displacement", axis=1)(episodes).tolist() == [[4.0 / 3.0], [3.0]]


def test_state_moments_are_those_of_the_states_left(episodes):
    points = make_embedding("state_moments")(episodes)
    for point, states, length in zip(points, episodes.observations, episodes.lengths, strict=True):
        left = states[:length]
        covariance = np.cov(left.T, bias=True)
        np.testing.assert_allclose(point, [*left.mean(axis=0), *covariance[np.triu_indices(2)]], atol=1e-12)
    chosen = make_embedding("state_moments", indices=[1])(episodes)
    # Products of matrices of other shapes: the last bits are the CPU's.
    np.testing.assert_allclose(chosen, points[:, [1, 4]], atol=1e-12)


def test_visitation_counts_steps_taken(episodes):
    states = make_embedding("visitation", states=4)(episodes)
    pairs = make_embedding("visitation", states=4, actions=3)(episodes)
    assert states.sum(axis=1).tolist() == [H, 2, H]
    assert np.array_equal(pairs.reshape(3, 4, 3).sum(axis=2), states)
    expected = np.zeros(12)
    for t in range(2):
        expected[int(episodes.observations[1, t, 0]) * 3 + int(episodes.actions[1, t, 0])] += 1
    assert np.array_equal(pairs[1], expected)


class Half:
    needs = frozenset({"actions"})

    def __init__(self, factor=0.5):
        self.factor = factor

    def __call__(self, trajectories):
        return self.factor * trajectories.actions[:, :, 0]


def first_reward(trajectories):
    return trajectories.rewards[:, :1]


def flat(trajectories):
    return trajectories.rewards[:, 0]


def test_a_users_own(episodes):
    assert make_embedding(first_reward).needs == {"observations", "actions"}
    assert make_embedding(Half()).needs == {"actions"}
    np.testing.assert_allclose(
        make_embedding(Half, factor=2.0)(episodes), 4 * make_embedding(Half())(episodes), rtol=1e-15
    )
    by_path = make_embedding("bges.behavior.embeddings:FinalState", indices=[1])
    assert np.array_equal(by_path(episodes), make_embedding("final_state", indices=[1])(episodes))


@pytest.mark.parametrize("name", OF_EPISODES)
def test_travels_to_workers(name, episodes):
    embedding = make_embedding(name, **settings_of(name))
    there = cloudpickle.loads(cloudpickle.dumps(embedding))
    assert np.array_equal(there(episodes), embedding(episodes))


def test_mistakes_are_named(episodes):
    with pytest.raises(InputError, match=r"embedding is 'final_sate' \(did you mean 'final_state'\?\)"):
        make_embedding("final_sate")
    with pytest.raises(InputError, match=r"argument of embedding final_state is 'index' \(did you mean 'indices'\?\)"):
        make_embedding("final_state", index=0)
    with pytest.raises(InputError, match="embedding actions takes no arguments"):
        make_embedding("actions", axis=0)
    with pytest.raises(InputError, match="embedding visitation needs the argument 'states'"):
        make_embedding("visitation")
    with pytest.raises(InputError, match=r"final_state indices are \[7\], expected some of 0..1"):
        make_embedding("final_state", indices=[7])(episodes)
    with pytest.raises(InputError, match=r"output of the embedding flat has shape \(3,\), expected \(3, any\)"):
        make_embedding(flat)(episodes)
    with pytest.raises(InputError, match="not callable"):
        make_embedding("bges.behavior.embeddings:PARTS")
    with pytest.raises(InputError, match="has no 'nothing'"):
        make_embedding("bges.behavior.embeddings:nothing")
    with pytest.raises(InputError, match="probe_actions is of what a policy does, and not of episodes"):
        make_embedding("probe_actions")(episodes)
    with pytest.raises(InputError, match=r"visitation states must be whole numbers in 0..1"):
        make_embedding("visitation", states=2)(episodes)
    needy = Half()
    needy.needs = {"rewards"}
    with pytest.raises(InputError, match="needs is 'rewards'"):
        make_embedding(needy)


def test_output_must_stay_finite_and_keep_its_size(episodes):
    sizes = iter([1, 2])
    shrinking = make_embedding(lambda trajectories: np.zeros((3, next(sizes))))
    shrinking(episodes)
    with pytest.raises(InputError, match=r"has shape \(3, 2\), expected \(3, 1\)"):
        shrinking(episodes)
    with pytest.raises(InputError, match="non-finite"):
        make_embedding(lambda trajectories: np.full((3, 1), np.nan))(episodes)
    with pytest.raises(InputError, match="no coordinates"):
        make_embedding(lambda trajectories: np.zeros((3, 0)))(episodes)
