import pytest

from bges.errors import InputError
from bges.report import paths_picture


def test_several_runs_are_drawn_on_one_map(runs, tmp_path):
    paths_picture([runs["es-0"], runs["bges-0"]], tmp_path / "both.png")
    paths_picture([runs["es-0"]], tmp_path / "one.png")
    assert (tmp_path / "both.png").stat().st_size > (tmp_path / "one.png").stat().st_size > 10_000


def test_a_task_without_a_map_is_refused(runs, tmp_path):
    with pytest.raises(InputError, match="its task has no map to draw paths on"):
        paths_picture([runs["line"]], tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        paths_picture([runs["es-0"]], tmp_path / "nowhere" / "picture.png")
