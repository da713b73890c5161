"""Films of policies: what the files hold, and what is said when they cannot be made."""

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageSequence

from bges.errors import InputError
from bges.runs.directory import Run
from bges.runs.evaluation import evaluate_policy
from bges.video import check_video_file, film_policy, write_film
from tests.runs.test_directory import Session


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    session = Session(path).step(2).save()
    session.close()
    return Run(path)


@pytest.fixture(scope="module")
def film(run):
    return film_policy(run, seed=3, width=160, height=120)


def test_a_film_shows_the_first_episode_of_the_evaluation(run, film):
    assert film.frames.shape == (13, 120, 160, 3)
    assert (film.frames[0] != film.frames[-1]).any()
    assert film.total_return == evaluate_policy(run, episodes=1, seed=3, which="best")["return_mean"]


def test_fewer_frames_take_the_same_time(run, film):
    short = film_policy(run, seed=3, width=160, height=120, most_frames=5)
    assert short.frames.shape[0] <= 5
    assert np.array_equal(short.frames, film.frames[::3])
    assert short.fps == film.fps / 3


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_the_file_holds_the_whole_episode(film, tmp_path, ending):
    path = tmp_path / f"film.{ending}"
    write_film(film, path)
    if ending == "gif":
        with Image.open(path) as image:
            assert image.size == (160, 120)
            # Equal frames are one that lasts longer.
            lasts = [frame.info["duration"] for frame in ImageSequence.Iterator(image)]
        assert sum(lasts) == len(film.frames) * 1000 / film.fps
        return
    import imageio.v2 as imageio

    with imageio.get_reader(path) as reader:
        frames = [*reader.iter_data()]
        assert reader.get_meta_data()["fps"] == film.fps
    assert len(frames) == len(film.frames)
    assert np.abs(frames[0].astype(float) - film.frames[0]).mean() < 10


def test_gymnasium_s_own_tasks_are_filmed_too(tmp_path):
    changes = {"env": {"id": "Swimmer-v5", "horizon": 6}, "embedding": {"name": "reward_to_go"}}
    Session(tmp_path, changes).step(1).save().close()
    film = film_policy(Run(tmp_path), width=80, height=60)
    assert film.frames.shape == (7, 60, 80, 3)
    # Gymnasium's own step and the native batch agree to the last bits only on some CPUs.
    expected = evaluate_policy(Run(tmp_path), episodes=1, seed=0, which="best")["return_mean"]
    assert film.total_return == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "message"),
    [("film.avi", r"expected a file that ends in \.mp4 or \.gif"), ("nowhere/film.gif", "there is no directory")],
)
def test_a_file_that_cannot_be_written_is_refused(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        check_video_file(tmp_path / name)


def test_mp4_without_its_encoder_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(InputError, match=r"pip install 'bges\[video\]'"):
        check_video_file(tmp_path / "film.mp4")


def test_an_environment_without_pictures_is_refused(tmp_path):
    Session(tmp_path, {"env": {"id": "tests.report.plain:Plain"}}).step(1).save().close()
    with pytest.raises(InputError, match=r"Plain.* takes no arguments"):
        film_policy(Run(tmp_path))


def test_without_off_screen_opengl_the_command_names_the_package(run, tmp_path):
    """Neither library is found where the loader is told to look for nothing."""
    command = [sys.executable, "-m", "bges.cli", "eval", str(run.path), "--video", str(tmp_path / "film.gif")]
    hidden = "import sys; sys.modules['mujoco.egl'] = sys.modules['mujoco.osmesa'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "apt-get install libegl1 libgl1-mesa-dri (or libosmesa6)" in done.stderr
    assert not (tmp_path / "film.gif").exists()
