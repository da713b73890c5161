import numpy as np

from bges.evolution.noise import noise_table
from bges.evolution.variation import first_variations, variations_of, varied

from .conftest import small_config


def config():
    return small_config({"search": {"explore": 0.5}})


def test_a_variation_is_its_parent_a_step_towards_another_and_noise(rng):
    table, thetas = noise_table(0, 20_000), rng.normal(size=(3, 7)).astype(np.float32)
    found = variations_of(config(), rng, thetas, np.array([0, 2, 1, 1]), np.array([1, 2, 0, 2]))
    children = varied(thetas, found, table, 0, 4)
    for k in range(4):
        first, second = thetas[found.first[k]], thetas[found.second[k]]
        noise = table[found.offsets[k] : found.offsets[k] + 7]
        expected = first + found.lines[k] * (second - first) + found.scales[k] * noise
        np.testing.assert_allclose(children[k], expected, rtol=1e-5, atol=1e-6)
    # Nobody is anywhere else from itself.
    assert np.abs(children[1] - thetas[2]).max() <= found.scales[1] * np.abs(table).max()


def test_noise_grows_with_the_parent(rng):
    thetas = np.stack([np.ones(7), 100 * np.ones(7)]).astype(np.float32)
    rows = np.repeat([0, 1], 500)
    scales = variations_of(config(), rng, thetas, rows, rows).scales
    ratio = np.exp(np.log(scales[500:]).mean() - np.log(scales[:500]).mean())
    assert 70 < ratio < 140


def test_chunks_are_cut_anywhere_with_the_same_bytes(rng):
    table = noise_table(0, 20_000)
    first = first_variations(config(), 0, 10, 30)
    nothing = np.zeros((1, 30), np.float32)
    whole = varied(nothing, first, table, 0, 10)
    assert (
        np.concatenate([varied(nothing, first, table, *cut) for cut in ((0, 3), (3, 10))]).tobytes() == whole.tobytes()
    )
    # Of many sizes, about the one that is configured.
    sizes = whole.std(axis=1)
    assert sizes.max() > 1.5 * sizes.min()
    assert 0.2 < np.median(sizes) < 1.1
