"""Draw the deceptive point: its trap, two controllers and what random policies do.

python examples/deceptive_point.py [PICTURE.png]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import gymnasium
import matplotlib.pyplot as plt
import numpy as np

from bges.environments import make_vector_env, member_seeds
from bges.policies import MLP
from bges.report.picture import draw_scene
from bges.rollouts import play
from bges_envs.point import DeceptivePoint

ENV = "bges_envs:DeceptivePoint-v0"


def straight(observation):
    return np.clip(0.3 * ([25.0, 0.0] - observation[:2]) - 0.12 * observation[3:5], -1, 1)


def detour(observation):
    target = [18.0, 6.0] if observation[0] < 12 else [25.0, 0.0]
    return np.clip(0.3 * (target - observation[:2]) - 0.12 * observation[3:5], -1, 1)


def path_of(controller):
    """Positions (t, 2), total reward and last info of one episode."""
    env = gymnasium.make(ENV)
    observation, _ = env.reset(seed=0)
    path, total, done = [observation[:2]], 0.0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(controller(observation).astype(np.float32))
        path.append(observation[:2])
        total, done = total + reward, terminated or truncated
    return np.array(path), total, info


def random_paths(members=100):
    env = make_vector_env(ENV, members)
    policy = MLP(env.single_observation_space, env.single_action_space)
    thetas = np.random.default_rng(0).normal(0.0, 0.5, (members, policy.num_parameters))
    return play(env, policy.batch(thetas), seeds=member_seeds(0, members), keep=["observations"])


def draw(axes):
    draw_scene(axes, DeceptivePoint())
    played = random_paths()
    for i, trajectory in enumerate(played.observations):
        label = "100 random policies" if i == 0 else None
        axes.plot(trajectory[:, 0], trajectory[:, 1], color="#9aa5b1", lw=0.6, alpha=0.5, label=label)
    for controller, colour, name in ((straight, "#1f5fa8", "straight"), (detour, "#d97706", "detour")):
        path, total, info = path_of(controller)
        end = "reaches the goal" if info["success"] else "is trapped"
        print(f"{name:9} total reward {total:8.1f}   past the wall: {info['past_wall']!s:5}   goal: {info['success']}")
        axes.plot(path[:, 0], path[:, 1], color=colour, lw=2.2, label=f"{name}: {end}, {total:.0f}")
    past = int(played.flags["past_wall"].sum())
    print(f"random    best of 100 {played.returns.max():8.1f}   past the wall: {past} of 100")
    axes.set(xlim=(-9, 31), ylim=(-10, 10))
    axes.legend(loc="upper left", fontsize=8, framealpha=0.95)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "deceptive_point.png")
    figure, axes = plt.subplots(figsize=(8.4, 4.4), layout="constrained")
    draw(axes)
    figure.savefig(target, dpi=130)
    print(f"picture   {target.resolve()}")


if __name__ == "__main__":
    main()
