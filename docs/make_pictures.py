"""Draw docs/img/environments.png: a frame of each environment, some steps into an episode.

python docs/make_pictures.py
"""

from pathlib import Path

import gymnasium
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).parent / "img" / "environments.png"
SCENES = {
    "DeceptivePoint-v0": (12, [1.0, 0.25]),
    "DeceptiveQuadruped-v0": (10, [0.0] * 8),
    "MultiGoal-v0": (3, [0.3, 0.05]),
}


def frame(name: str, steps: int, action: list[float]) -> np.ndarray:
    env = gymnasium.make(f"bges_envs:{name}", render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(steps):
        env.step(np.array(action, np.float32))
    picture = env.render()
    env.close()
    return picture


def main() -> None:
    figure, places = plt.subplots(1, 3, figsize=(12.6, 3.5), layout="constrained")
    for axes, (name, (steps, action)) in zip(places, SCENES.items(), strict=True):
        axes.imshow(frame(name, steps, action))
        axes.set_title(name, fontsize=10)
        axes.axis("off")
    figure.savefig(TARGET, dpi=100)
    print(TARGET)


if __name__ == "__main__":
    main()
