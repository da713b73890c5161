"""pyribs' MAP-Elites (iso-line) and CMA-MAE on our mazes, with our networks and rollouts, as many episodes as `bges`.

    pip install ribs
    python benchmarks/vs_pyribs.py --mazes 1000 1020 --out benchmarks/results/mazes-pyribs.csv

A row for each maze and method: episodes until one first stood at the goal, the best elite's return, whether that elite
settles (it succeeds when it is played again), and how many elites succeed. Finished rows are kept: run it again to
resume.
"""

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from ribs.archives import GridArchive
from ribs.emitters import EvolutionStrategyEmitter, IsoLineEmitter
from ribs.schedulers import Scheduler

from bges.config.loading import load_config
from bges.core.problem import Problem
from bges.rollouts import play

EPISODES = 15_600
ARENA = [(-4.0, 4.0), (-4.0, 4.0)]
GRID = (40, 40)
BATCH = 100


class Task:
    """A maze that plays parameter vectors, an episode each."""

    def __init__(self, maze: int) -> None:
        self.problem = Problem.of(load_config("maze", {"env.kwargs.maze": maze}))
        self._envs: dict[int, Any] = {}
        env = self._env(1)
        self.policy = self.problem.make_policy(env.single_observation_space, env.single_action_space)

    def _env(self, count: int) -> Any:
        if count not in self._envs:
            self._envs[count] = self.problem.make_env(count)
        return self._envs[count]

    def __call__(self, thetas: Any) -> tuple[Any, Any, Any]:
        """Returns (n,), final places (n, 2) and successes (n,)."""
        batch = self.policy.batch(np.asarray(thetas, np.float32))
        played = play(self._env(len(thetas)), batch, seeds=np.zeros(len(thetas), np.uint64))
        return played.returns, played.final_observations[:, :2], played.flags["success"]


def map_elites(dimension: int, rng: np.random.Generator) -> tuple[Any, Scheduler]:
    archive = GridArchive(solution_dim=dimension, dims=GRID, ranges=ARENA, seed=int(rng.integers(2**31)))
    emitter = IsoLineEmitter(
        archive,
        iso_sigma=0.05,
        line_sigma=0.2,
        initial_solutions=rng.normal(0.0, 0.3, (BATCH, dimension)),
        batch_size=BATCH,
        seed=int(rng.integers(2**31)),
    )
    return archive, Scheduler(archive, [emitter])


def cma_mae(dimension: int, rng: np.random.Generator) -> tuple[Any, Scheduler]:
    settings = {"solution_dim": dimension, "dims": GRID, "ranges": ARENA}
    archive = GridArchive(**settings, learning_rate=0.01, threshold_min=-1000.0, seed=int(rng.integers(2**31)))
    results = GridArchive(**settings, seed=int(rng.integers(2**31)))
    emitters = [
        EvolutionStrategyEmitter(
            archive,
            x0=np.zeros(dimension),
            sigma0=0.3,
            ranker="imp",
            selection_rule="mu",
            restart_rule="basic",
            batch_size=36,
            seed=int(rng.integers(2**31)),
        )
        for _ in range(15)
    ]
    return results, Scheduler(archive, emitters, result_archive=results)


METHODS = {"MAP-Elites": map_elites, "CMA-MAE": cma_mae}


def search(maze: int, method: str) -> dict[str, Any]:
    task, started = Task(maze), time.perf_counter()
    elites, scheduler = METHODS[method](task.policy.num_parameters, np.random.default_rng(maze))
    played, first = 0, None
    while played < EPISODES:
        thetas = scheduler.ask()
        returns, places, successes = task(thetas)
        if first is None and successes.any():
            first = played + int(successes.argmax()) + 1
        played += len(thetas)
        scheduler.tell(returns, np.clip(places, -4.0, 4.0))
    seconds = time.perf_counter() - started
    best = elites.best_elite["solution"]
    score, _, settled = task(best[None])
    _, _, at_goal = task(elites.data("solution"))
    return {
        "maze": maze,
        "method": method,
        "episodes": played,
        "first_success": first,
        "settled": int(settled[0]),
        "final_return": round(float(score[0]), 3),
        "elites": len(at_goal),
        "elites_at_goal": int(at_goal.sum()),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mazes", type=int, nargs=2, default=(0, 10), metavar=("FIRST", "END"))
    parser.add_argument("--out", type=Path, required=True, help="CSV; finished rows are kept")
    arguments = parser.parse_args()
    rows = list(csv.DictReader(arguments.out.open())) if arguments.out.exists() else []
    done = {(int(row["maze"]), row["method"]) for row in rows}
    for maze in range(*arguments.mazes):
        for method in METHODS:
            if (maze, method) not in done:
                rows.append(search(maze, method))
                with arguments.out.open("w", newline="") as file:
                    writer = csv.DictWriter(file, list(rows[0]))
                    writer.writeheader()
                    writer.writerows(rows)
                print(rows[-1], flush=True)
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        firsts = [float(row["first_success"]) if row["first_success"] not in (None, "") else np.inf for row in own]
        score = np.mean([float(row["final_return"]) for row in own])
        settled = sum(int(row["settled"]) for row in own)
        print(f"{method}: settled {settled} of {len(own)}, first {np.median(firsts):.0f}, return {score:.1f}")


if __name__ == "__main__":
    main()
