import numpy as np
import pytest

from bges.errors import InputError
from bges.evolution.noise import check_table, noise_table, weighted_sum
from bges.evolution.perturbations import Perturbations

from .conftest import small_config


def draw(iteration=5, seed=3, **es):
    es = {"population": 10, "noise_table": 5000, **es}
    return Perturbations.of(small_config({"seed": seed, "env": {"episodes": 2}, "es": es}), iteration, 40)


def test_table_is_standard_normal_read_only_and_from_its_seed():
    table = noise_table(0, 200_000)
    assert table.dtype == np.float32
    assert abs(table.mean()) < 4 / np.sqrt(200_000)
    assert abs(table.std() - 1) < 0.01
    assert not table.flags.writeable
    assert table.tobytes() == noise_table(0, 200_000).tobytes()
    assert table.tobytes() != noise_table(1, 200_000).tobytes()


def test_weighted_sum_is_the_matrix_product(rng):
    table = noise_table(0, 5000)
    offsets, weights = rng.integers(0, 4000, 30), rng.normal(size=30)
    rows = np.stack([table[o : o + 100] for o in offsets]).astype(float)
    np.testing.assert_allclose(weighted_sum(table, offsets, weights, 100), weights @ rows, rtol=1e-4, atol=1e-5)


def test_antithetic_pairs_share_noise_and_episodes():
    drawn = draw()
    assert np.array_equal(drawn.offsets[::2], drawn.offsets[1::2])
    assert drawn.signs.tolist() == [1.0, -1.0] * 5
    assert np.array_equal(drawn.seeds[::2], drawn.seeds[1::2])
    assert len(np.unique(drawn.seeds)) == 10
    table, theta = noise_table(3, 5000), np.arange(40, dtype=np.float32)
    thetas = drawn.thetas(theta, 0.1, table, 2, 6)
    np.testing.assert_allclose(thetas[::2] + thetas[1::2], np.stack([2 * theta] * 2), atol=1e-5)
    noise = table[drawn.offsets[4] : drawn.offsets[4] + 40]
    np.testing.assert_allclose(thetas[2], theta + np.float32(0.1) * noise, rtol=1e-6, atol=1e-6)


def test_plain_perturbations_are_all_different():
    drawn = draw(antithetic=False)
    assert len(np.unique(drawn.offsets)) == 10
    assert drawn.signs.tolist() == [1.0] * 10
    assert len(np.unique(drawn.seeds)) == 20


def test_a_chunk_gets_the_same_numbers_whatever_the_cut():
    table, theta = noise_table(3, 5000), np.ones(40, np.float32)
    drawn = draw()
    whole = drawn.thetas(theta, 0.1, table, 0, 10)
    parts = [draw().thetas(theta, 0.1, table, *cut) for cut in ((0, 3), (3, 4), (4, 10))]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_iterations_and_seeds_draw_different_numbers():
    assert not np.array_equal(draw().offsets, draw(iteration=6).offsets)
    assert not np.array_equal(draw().offsets, draw(seed=4).offsets)


def test_every_offset_leaves_room_for_a_whole_vector():
    drawn = draw(population=20_000, antithetic=False, noise_table=1000)
    assert drawn.offsets.min() == 0
    assert drawn.offsets.max() == 1000 - 40


def test_a_table_too_small_for_the_policy_is_refused():
    with pytest.raises(InputError, match=r"es\.noise_table is 1000, expected at least 2000"):
        check_table(1000, 200)
