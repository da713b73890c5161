"""Does the point preset get past the trap and stay there? BGES beside ES and NSR-ES, the same settings for all.

    python benchmarks/point_learning.py [--seeds 10] [--workers 2] [--out benchmarks/results] [--quick]

Seeds are 0..n-1, all reported. A run is settled when at least 90 % of the episodes in the last tenth of its
evaluations reach the goal; evaluations play the unperturbed policy with the training's action noise. Runs are kept
under --runs and finished ones are not repeated.
"""

import argparse
import csv
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from bges.distributed.session import ray_session
from bges.distributed.trainer import run_training
from bges.runs.config import load_config
from bges.runs.directory import Run, evaluate_policy

METHODS: dict[str, dict[str, Any]] = {
    "bges": {},
    "es": {"algorithm": "es"},
    "nsres": {"algorithm": "nsres", "nsres.members": 1, "es.shaping": "ranks"},
    "bges, random novelty": {"novelty.name": "random"},
}
COLOURS = {"bges": "#1f5fa8", "es": "#b5482f", "nsres": "#d97706", "bges, random novelty": "#7a7a7a"}


def train(method: str, seed: int, options: argparse.Namespace) -> Run:
    overrides: dict[str, Any] = {**METHODS[method], "seed": seed, "workers": options.workers}
    if options.quick:
        overrides |= {"iterations": 20, "es.population": 40}
    path = options.runs / f"{method.replace(', ', '-').replace(' ', '-')}-{seed}"
    exists = (path / "config.yaml").exists()
    return run_training(load_config("point", overrides), path, resume=exists)


def judge(method: str, seed: int, run: Run) -> dict[str, Any]:
    table = run.metrics().to_pydict()
    tail = max(len(table["iteration"]) // 10, 1)
    success, past = np.mean(table["success_rate"][-tail:]), np.mean(table["past_wall"][-tail:])
    last = evaluate_policy(run, episodes=10, seed=1, which="last")
    return {
        "method": method,
        "seed": seed,
        "settled": int(success >= 0.9),
        "success_last_tenth": round(float(success), 3),
        "past_wall_last_tenth": round(float(past), 3),
        "score_last_tenth": round(float(np.mean(table["score"][-tail:])), 1),
        "best_score": round(float(table["best_score"][-1]), 1),
        "final_policy_return": round(last["return_mean"], 1),
        "final_policy_success": last["success"],
        "env_steps": table["env_steps"][-1],
        "wall_seconds": round(table["wall_time"][-1], 1),
    }


def draw(curves: dict[str, list[list[float]]], path: Path) -> None:
    figure, panels = plt.subplots(1, len(curves), figsize=(3.6 * len(curves), 3.4), sharey=True, layout="constrained")
    for axes, (method, scores) in zip(np.atleast_1d(panels), curves.items(), strict=True):
        for score in scores:
            axes.plot(score, color=COLOURS[method], lw=0.8, alpha=0.6)
        axes.plot(np.mean(scores, axis=0), color="black", lw=1.6, label="mean")
        axes.axhline(-769.6, color="#999999", ls=":", lw=1)
        axes.set(title=f"{method}, {len(scores)} seeds", xlabel="iteration", ylim=(-1300, -480))
        axes.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(panels)[0].set_ylabel("score (dotted: stuck in the trap)")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=Path, default=Path("runs/point_learning"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--quick", action="store_true", help="two seeds of a few iterations")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.runs = 2, options.runs.with_name("point_learning_quick")
    rows: list[dict[str, Any]] = []
    curves: dict[str, list[list[float]]] = {}
    # One Ray for all runs.
    with ray_session(None, 100 * 2**20):
        for method in METHODS:
            for seed in range(options.seeds):
                run = train(method, seed, options)
                rows.append(judge(method, seed, run))
                curves.setdefault(method, []).append(run.metrics()["score"].to_pylist())
                row = rows[-1]
                print(
                    f"{method:22} seed {seed}  settled {row['settled']}  success {row['success_last_tenth']:.2f}  "
                    f"score {row['score_last_tenth']:.0f}  final policy {row['final_policy_return']:.0f}",
                    flush=True,
                )
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        print(f"{method:22} settled {sum(row['settled'] for row in own)} of {len(own)}")
    options.out.mkdir(parents=True, exist_ok=True)
    versions = ", ".join(f"{name} {version(name)}" for name in ("bges", "ray", "mujoco", "numpy"))
    note = f"python {platform.python_version()}, {versions}, {platform.machine()}, python {' '.join(sys.argv)}"
    with (options.out / "point_learning.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "made_by"])
        writer.writeheader()
        writer.writerows({**row, "made_by": note} for row in rows)
    draw(curves, options.out / "point_learning.png")


if __name__ == "__main__":
    main()
