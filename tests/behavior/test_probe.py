import numpy as np
import pytest

from bges.behavior import OffPolicyEmbedding, ProbeBuffer, TestFunctions, make_cost
from bges.errors import InputError


def test_keeps_the_newest_states():
    buffer = ProbeBuffer(1, capacity=5)
    for start in (0, 3, 6):
        buffer.add(np.arange(start, start + 3.0)[:, None])
    assert len(buffer) == 5
    assert set(buffer.sample(500)[:, 0]) == {4.0, 5.0, 6.0, 7.0, 8.0}
    buffer.add(np.arange(100.0, 112.0)[:, None])
    assert set(buffer.sample(500)[:, 0]) == {107.0, 108.0, 109.0, 110.0, 111.0}
    buffer.add(np.array([[200.0]]))
    assert set(buffer.sample(500)[:, 0]) == {108.0, 109.0, 110.0, 111.0, 200.0}


def test_restored_it_draws_the_same_and_overwrites_the_same(rng):
    buffer = ProbeBuffer(2, capacity=7, seed=3)
    buffer.add(rng.normal(size=(10, 2)))
    first = buffer.sample(4)
    twin = ProbeBuffer.from_state(buffer.state())
    more = rng.normal(size=(3, 2))
    for each in (buffer, twin):
        each.add(more)
    second = buffer.sample(4)
    assert second.tobytes() == twin.sample(4).tobytes()
    assert not np.array_equal(first, second)


def test_draws_depend_on_the_seed(rng):
    states = rng.normal(size=(50, 2))
    draws = []
    for seed in (0, 0, 1):
        buffer = ProbeBuffer(2, seed=seed)
        buffer.add(states)
        draws.append(buffer.sample(20))
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_blocks_are_standardised_each_by_its_own_spread(rng):
    states, actions = rng.normal(50.0, 10.0, size=(200, 3)), rng.normal(0.0, 0.01, size=(200, 2))
    embedding = OffPolicyEmbedding(3, 2)
    embedding.observe(states, actions)
    points = embedding(states, actions)
    assert points.shape == (200, 5)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(points.std(axis=0), 1.0)
    expected = np.concatenate(
        [
            (states - states.mean(axis=0)) / states.std(axis=0),
            (actions - actions.mean(axis=0)) / actions.std(axis=0),
        ],
        axis=1,
    )
    np.testing.assert_allclose(make_cost("l2")(points, points[:3]), make_cost("l2")(expected, expected[:3]), atol=1e-9)


def test_policies_that_act_alike_are_close(rng):
    buffer = ProbeBuffer(3)
    buffer.add(rng.normal(size=(300, 3)))
    states = buffer.sample(80)
    weights = rng.normal(size=(3, 2))
    embedding = OffPolicyEmbedding(3, 2)
    embedding.observe(states, states @ weights)
    old = embedding.of_policy(lambda s: s @ weights, states)
    functions = TestFunctions(5, cost="l2", gamma=0.1, solver="sinkhorn", standardize=False)
    near, far = (
        functions.debiased_distance(old, embedding.of_policy(lambda s, by=by: s @ (weights + by), states))
        for by in (0.1, 1.0)
    )
    assert functions.debiased_distance(old, old) == pytest.approx(0.0, abs=1e-9)
    assert 0 < near < far


def test_embedding_state_round_trip(rng):
    states, actions = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    embedding = OffPolicyEmbedding(3, 2)
    embedding.observe(states, actions)
    twin = OffPolicyEmbedding.from_state(embedding.state())
    for each in (embedding, twin):
        each.observe(2 * states, actions + 1)
    assert embedding(states, actions).tobytes() == twin(states, actions).tobytes()


def test_mistakes_are_named():
    buffer = ProbeBuffer(2)
    with pytest.raises(InputError, match="probe buffer is empty"):
        buffer.sample(1)
    with pytest.raises(InputError, match=r"states has shape \(1, 3\)"):
        buffer.add(np.zeros((1, 3)))
    embedding = OffPolicyEmbedding(2, 1)
    with pytest.raises(InputError, match=r"actions has shape \(4, 1\), expected \(3, 1\)"):
        embedding(np.zeros((3, 2)), np.zeros((4, 1)))
    with pytest.raises(InputError, match="states is empty"):
        embedding.observe(np.zeros((0, 2)), np.zeros((0, 1)))
    with pytest.raises(InputError, match="non-finite"):
        embedding.of_policy(lambda states: np.full((len(states), 1), np.nan), np.zeros((3, 2)))
