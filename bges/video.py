"""A film of a policy: one episode, rendered off-screen."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from bges.core.problem import Problem
from bges.environments import AnyVectorEnv, horizon_of, make_vector_env, member_seeds
from bges.errors import InputError
from bges.rollouts import play
from bges.runs.directory import Run
from bges.runs.files import write_file

ENDINGS = (".mp4", ".gif")
INSTALL_MP4 = "MP4 needs imageio-ffmpeg: pip install 'bges[video]', or name a .gif file"
# Browsers slow down what asks for less than 2 hundredths of a second.
FASTEST_GIF = 50.0


@dataclass(frozen=True, kw_only=True)
class Film:
    """Frames (t, height, width, 3) of an episode, how many of them make a second, and what the episode earned."""

    frames: NDArray[np.uint8]
    fps: float
    total_return: float

    def thinned(self, most: int) -> "Film":
        """At most so many frames, in the same time."""
        stride = -(-len(self.frames) // most)
        return Film(frames=self.frames[::stride], fps=self.fps / stride, total_return=self.total_return)


class _Filmed(VectorWrapper):
    """Keeps a picture of the first state and of the one after each `stride`-th step."""

    def __init__(self, env: AnyVectorEnv, stride: int) -> None:
        super().__init__(env)
        self.frames: list[NDArray[np.uint8]] = []
        self._stride, self._steps = stride, 0

    def reset(self, **options: Any) -> Any:
        found = self.env.reset(**options)
        self._shoot()
        return found

    def step(self, actions: Any) -> Any:
        found = self.env.step(actions)
        self._steps += 1
        if self._steps % self._stride == 0:
            self._shoot()
        return found

    def _shoot(self) -> None:
        pictures: Any = self.env.render()
        if not pictures or pictures[0] is None:
            raise InputError("the environment renders no pictures with render_mode='rgb_array'")
        self.frames.append(np.asarray(pictures[0], np.uint8))


def check_video_file(path: Path) -> None:
    """Refuse a file that could not be written before anything is played."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"--video is {str(path)!r}, expected a file that ends in {' or '.join(ENDINGS)}")
    if not path.parent.is_dir():
        raise InputError(f"--video is {str(path)!r}: there is no directory {str(path.parent)!r}")
    if path.suffix.lower() == ".mp4":
        try:
            import imageio_ffmpeg  # noqa: F401
        except ImportError:
            raise InputError(f"--video is {str(path)!r}: {INSTALL_MP4}") from None


def film_policy(
    run: Run,
    *,
    which: str = "best",
    member: int | None = None,
    seed: int = 0,
    width: int = 640,
    height: int = 480,
    most_frames: int | None = None,
) -> Film:
    """The first episode that `evaluate_policy` plays for that seed, in at most `most_frames` pictures."""
    problem = Problem.of(run.config)
    policy = run.policy(which, problem, member=member)
    rendering = _rendering_env(problem, width, height)
    stride = 1 if most_frames is None else -(-(horizon_of(rendering) + 1) // most_frames)
    env = _Filmed(rendering, stride)
    try:
        batch = policy.architecture.batch(policy.theta[None], moments=policy.moments)
        played = play(env, batch, seeds=member_seeds(seed, 1))
        fps = float(env.metadata.get("render_fps") or 30) / stride
    except gymnasium.error.DependencyNotInstalled as error:
        raise InputError(f"env.id is {problem.config.env.id!r}, which cannot be rendered here: {error}") from None
    finally:
        env.close()
    return Film(frames=np.stack(env.frames), fps=fps, total_return=float(played.returns[0]))


def _rendering_env(problem: Problem, width: int, height: int) -> AnyVectorEnv:
    config, source = problem.config.env, problem.env
    kwargs: dict[str, Any] = {**config.kwargs, "render_mode": "rgb_array"}
    if isinstance(source, EnvSpec):
        of_mujoco = str(getattr(source.entry_point, "__module__", "")).startswith("gymnasium.envs.mujoco.")
        if of_mujoco or getattr(source.vector_entry_point, "member_seeds", False):
            from bges_envs.rendering import find_backend

            # Gymnasium's own renderer would try a window first.
            os.environ["MUJOCO_GL"] = find_backend()
            kwargs |= {"width": width, "height": height}
    return make_vector_env(source, 1, horizon=config.horizon, kwargs=kwargs, name=config.id)


def write_film(film: Film, path: Path) -> None:
    """An MP4 or an animated GIF, by the file's ending."""
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    try:
        write_file(path, lambda file: write(film, file))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _write_mp4(film: Film, file: BinaryIO) -> None:
    import imageio.v2 as imageio

    # A block size of 2 is all that the encoder needs; imageio's own would resize the pictures.
    settings: dict[str, Any] = {"fps": film.fps, "macro_block_size": 2}
    content: Any = imageio.mimwrite("<bytes>", list(film.frames), format="mp4", **settings)
    file.write(content)


def _write_gif(film: Film, file: BinaryIO) -> None:
    from PIL import Image

    if film.fps > FASTEST_GIF:
        film = film.thinned(int(len(film.frames) * FASTEST_GIF / film.fps) + 1)
    # One palette for all frames: with one each, colours flicker and the file doubles. A body is small and its colour
    # rare, so the palette covers all rather than those that are seen most.
    sample = film.frames[:: max(len(film.frames) // 8, 1)].reshape(-1, *film.frames.shape[2:])
    palette = Image.fromarray(sample).quantize(256, method=Image.Quantize.MAXCOVERAGE)
    frames = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in film.frames]
    frames[0].save(
        file, "GIF", save_all=True, append_images=frames[1:], duration=round(1000 / film.fps), loop=0, optimize=False
    )
