"""Our TRPO against sb3-contrib's: the same task, steps, network and settings, over seeds, in one run.

    pip install sb3-contrib
    OMP_NUM_THREADS=1 python benchmarks/trpo_vs_sb3.py [--env Pendulum-v1] [--steps 200000] [--seeds 5]

Both are judged by the same 20 episodes of the last policy's mean action, with the observation statistics of its
training. Our environments begin a new episode in every iteration, the peer's go on. Writes
benchmarks/results/trpo_vs_sb3_ENV.csv.
"""

import argparse
import csv
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from bges import load_policy
from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.training.local import run_alone

HIDDEN, EPISODES, JUDGED = [64, 64], 20, 1_000_003
# The same by default: 15 steps of conjugate gradient, damping 0.1, discount 0.99, GAE 0.95, rate of the values 1e-3.
VALUE_EPOCHS = 10


def ours(env: str, batch: int, num_envs: int, iterations: int, seed: int) -> float:
    tree = {
        "algorithm": "trpo",
        "seed": seed,
        "iterations": iterations,
        "env": {"id": env},
        "policy": {"hidden": HIDDEN, "normalize_observations": True},
        "pg": {"batch": batch, "num_envs": num_envs, "chunk": num_envs, "value_epochs": VALUE_EPOCHS},
        "evaluation": {"every": iterations, "episodes": 1},
        "checkpoint": {"behaviors_every": 0},
    }
    with tempfile.TemporaryDirectory() as folder:
        run = run_alone(Problem.of(RunConfig.parse(tree)), Path(folder) / "run")
        return judged(env, load_policy(run.path, which="last"))


def peer(env: str, batch: int, num_envs: int, iterations: int, seed: int) -> float:
    from sb3_contrib import TRPO
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    made = VecNormalize(DummyVecEnv([lambda: gymnasium.make(env)] * num_envs), norm_reward=False)
    model = TRPO(
        "MlpPolicy",
        made,
        n_steps=batch // num_envs,
        n_critic_updates=VALUE_EPOCHS,
        target_kl=0.01,
        policy_kwargs={"net_arch": HIDDEN},
        seed=seed,
        device="cpu",
    )
    model.learn(batch * iterations)
    made.training = False
    return judged(env, lambda observation: model.predict(made.normalize_obs(observation), deterministic=True)[0])


def judged(env: str, policy: Callable[[Any], Any]) -> float:
    """Mean return of episodes that begin alike for everybody."""
    returns, single = [], gymnasium.make(env)
    for episode in range(EPISODES):
        observation, _ = single.reset(seed=JUDGED + episode)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = single.step(policy(observation))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", default="Pendulum-v1")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument("--num-envs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    if find_spec("sb3_contrib") is None:
        sys.exit("benchmarks/trpo_vs_sb3.py needs the peer: pip install sb3-contrib")
    iterations, rows = asked.steps // asked.batch, []
    for seed in range(asked.seeds):
        for name, train in (("ours", ours), ("sb3-contrib", peer)):
            started = time.perf_counter()
            score = train(asked.env, asked.batch, asked.num_envs, iterations, seed)
            rows.append({"who": name, "seed": seed, "return": round(score, 2)})
            rows[-1]["seconds"] = round(time.perf_counter() - started, 1)
            print(rows[-1], flush=True)
    where: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "versions": " ".join(f"{name} {version(name)}" for name in ("jax", "sb3-contrib", "torch", "gymnasium")),
    }
    path = Path(__file__).parent / "results" / f"trpo_vs_sb3_{asked.env.lower()}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *where])
        writer.writeheader()
        writer.writerows(row | where for row in rows)
    for name in ("ours", "sb3-contrib"):
        scores = [row["return"] for row in rows if row["who"] == name]
        print(f"{name:12} {np.mean(scores):.1f} ± {np.std(scores):.1f}")


if __name__ == "__main__":
    main()
