import time

import numpy as np
import pytest
from scipy.spatial import cKDTree

from bges.behavior.archive import NoveltyArchive
from bges.errors import InputError


def by_tree(points, queries, k):
    distances, _ = cKDTree(points).query(queries, k=k)
    return distances.reshape(len(queries), -1).mean(axis=1)


@pytest.mark.parametrize(("n", "dim"), [(1, 2), (7, 2), (10, 1), (500, 3), (20_000, 2), (9000, 40)])
def test_equals_a_tree(n, dim, rng):
    points, queries = rng.normal(size=(n, dim)), rng.normal(size=(30, dim))
    archive = NoveltyArchive(dim)
    archive.add(points)
    np.testing.assert_allclose(archive.novelty(queries), by_tree(points, queries, min(10, n)), rtol=1e-10)


def test_a_copy_in_the_archive_is_at_distance_zero_far_from_the_origin(rng):
    points = 1e6 + rng.normal(size=(100, 3))
    archive = NoveltyArchive(3, neighbors=1)
    archive.add(points)
    assert (archive.novelty(points) == 0).all()


def test_grows_point_by_point(rng):
    points = rng.normal(size=(300, 2))
    archive, at_once = NoveltyArchive(2, neighbors=3), NoveltyArchive(2, neighbors=3)
    for point in points:
        archive.add(point[None])
    at_once.add(points)
    assert len(archive) == 300
    assert np.array_equal(archive.points, points)
    assert archive.novelty(points).tobytes() == at_once.novelty(points).tobytes()


def test_points_cannot_be_changed_from_outside(rng):
    archive = NoveltyArchive(2)
    archive.add(rng.normal(size=(5, 2)))
    with pytest.raises(ValueError, match="read-only"):
        archive.points[0] = 0.0
    archive.add(rng.normal(size=(5, 2)))
    assert len(archive) == 10


def test_fast_enough_for_a_hundred_thousand_points(rng):
    archive = NoveltyArchive(2)
    archive.add(rng.normal(size=(100_000, 2)))
    queries = rng.normal(size=(200, 2))
    start = time.perf_counter()
    archive.novelty(queries)
    assert time.perf_counter() - start < 2.0


def test_state_round_trip_goes_on_byte_for_byte(rng):
    points, more, queries = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), rng.normal(size=(20, 2))
    archive = NoveltyArchive(2, neighbors=4)
    archive.add(points)
    twin = NoveltyArchive.from_state(archive.state())
    for each in (archive, twin):
        each.add(more)
    assert twin.neighbors == 4
    assert archive.novelty(queries).tobytes() == twin.novelty(queries).tobytes()


def test_mistakes_are_named():
    archive = NoveltyArchive(2)
    with pytest.raises(InputError, match="archive is empty"):
        archive.novelty(np.zeros((1, 2)))
    with pytest.raises(InputError, match=r"points has shape \(1, 3\)"):
        archive.add(np.zeros((1, 3)))
    with pytest.raises(InputError, match="non-finite"):
        archive.add(np.full((1, 2), np.nan))
    with pytest.raises(InputError, match="neighbors is 0"):
        NoveltyArchive(2, neighbors=0)
    with pytest.raises(InputError, match="not the saved state of NoveltyArchive"):
        NoveltyArchive.from_state({})
