"""Draw docs/img/environments.png, a frame of each environment, and docs/img/mazes.png, six mazes.

Or five frames of a video of a run's best policy.

python docs/make_pictures.py [RUN PICTURE.png]
"""

import sys
from pathlib import Path

import gymnasium
import matplotlib
import numpy as np
from PIL import Image

from bges.report import draw_scene
from bges.runs.directory import Run
from bges.video import film_policy
from bges_envs.maze import Maze
from bges_envs.maze_layouts import follow

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "img"
SCENES = {
    "AntTrap-v0": (10, [0.0] * 8),
    "DeceptivePoint-v0": (12, [1.0, 0.25]),
    "DeceptiveQuadruped-v0": (10, [0.0] * 8),
    "Maze-v0": (0, [0.0, 0.0]),
    "MultiGoal-v0": (3, [0.3, 0.05]),
}
# For tuning all of them.
MAZES = [("easy", 13), ("easy", 4), ("medium", 0), ("medium", 8), ("medium", 10), ("hard", 3)]
FRAMES, WIDTH, HEIGHT, GAP = 5, 320, 240, 4


def frame(name: str, steps: int, action: list[float]) -> np.ndarray:
    env = gymnasium.make(f"bges_envs:{name}", render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(steps):
        env.step(np.array(action, np.float32))
    picture = env.render()
    env.close()
    return picture


def environments(target: Path) -> None:
    figure, places = plt.subplots(1, 5, figsize=(18, 3.1), layout="constrained")
    for axes, (name, (steps, action)) in zip(places, SCENES.items(), strict=True):
        axes.imshow(frame(name, steps, action))
        axes.set_title(name, fontsize=10)
        axes.axis("off")
    figure.savefig(target, dpi=100)


def mazes(target: Path) -> None:
    """Where greed leads, in red, and the planned way, in blue."""
    figure, places = plt.subplots(2, 3, figsize=(10.5, 7.3), layout="constrained")
    for axes, (difficulty, number) in zip(places.flat, MAZES, strict=True):
        task = Maze(maze=number, difficulty=difficulty)
        layout = task.layout
        draw_scene(axes, task)
        greedy = follow(task.barriers, np.stack([layout.start, layout.goal]), task.horizon)[1]
        axes.plot(*greedy.T, color="#d62728", lw=1.5)
        axes.plot(*layout.way.T, color="#1f77b4", lw=1.5)
        axes.set(xlim=(-4.2, 4.2), ylim=(-4.2, 4.2), xlabel="", ylabel="")
        axes.set_title(f"{difficulty}, maze {number}: {layout.ratio:.1f} times the straight distance", fontsize=9)
    figure.savefig(target, dpi=80)


def strip(run: Path, target: Path) -> None:
    """Frames at equal times, side by side."""
    film = film_policy(Run(run), most_frames=FRAMES)
    drawn = Image.new("RGB", (FRAMES * (WIDTH + GAP) - GAP, HEIGHT), "white")
    for place, picture in enumerate(film.frames):
        drawn.paste(Image.fromarray(picture).resize((WIDTH, HEIGHT)), (place * (WIDTH + GAP), 0))
    drawn.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        strip(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        environments(IMAGES / "environments.png")
        mazes(IMAGES / "mazes.png")
