"""Draw docs/img/environments.png, a frame of each environment; or five frames of a video of a run's best policy.

python docs/make_pictures.py [RUN PICTURE.png]
"""

import sys
from pathlib import Path

import gymnasium
import matplotlib
import numpy as np
from PIL import Image

from bges.runs.directory import Run
from bges.video import film_policy

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).parent / "img" / "environments.png"
SCENES = {
    "DeceptivePoint-v0": (12, [1.0, 0.25]),
    "DeceptiveQuadruped-v0": (10, [0.0] * 8),
    "MultiGoal-v0": (3, [0.3, 0.05]),
}
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
    figure, places = plt.subplots(1, 3, figsize=(12.6, 3.5), layout="constrained")
    for axes, (name, (steps, action)) in zip(places, SCENES.items(), strict=True):
        axes.imshow(frame(name, steps, action))
        axes.set_title(name, fontsize=10)
        axes.axis("off")
    figure.savefig(target, dpi=100)


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
        environments(TARGET)
