"""Environment steps per second of whole training iterations: ours against evotorch, in one run.

    python benchmarks/vs_evotorch.py [--quick] [--task NAME]... [--out CSV]

Wants an environment of its own, since evotorch brings PyTorch (whose plain wheel brings CUDA; take a CPU one):

    python -m venv peer && peer/bin/pip install torch==2.13.0
    peer/bin/pip install evotorch
    peer/bin/pip install -e . -c requirements.lock
    peer/bin/python benchmarks/vs_evotorch.py

Both evolve the same 16-16 tanh network without observation normalisation or action noise, in antithetic pairs, with
Adam, the same population, the same episode length (tasks that end by time alone) and two Ray actors on the same Ray.
Ours is a whole BGES run: novelty, evaluation of the unperturbed policy, run directory. evotorch is PGPE on `GymNE`
(its usual way) and on `VecGymNE` (its vectorised one; `native`: given our own vector environment, where there is one).
The `limit` is Gymnasium's own `step` with a fixed action in two Ray actors and no policy at all: nothing that steps
Gymnasium environments one by one can be faster. Steps are those really taken; warm-up is left out; rounds are
interleaved and ratios are medians over rounds.
"""

import argparse
import csv
import logging
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
os.environ |= {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

import evotorch
import gymnasium
import numpy as np
import ray
import torch
from evotorch.algorithms import PGPE
from evotorch.neuroevolution import GymNE, VecGymNE

from bges.config.run import RunConfig
from bges.distributed.trainer import run_training
from bges.training.loop import Silent

ACTORS = 2
SIGMA, RATE = 0.02, 0.03
NETWORK = "Linear(obs_length, 16) >> Tanh() >> Linear(16, 16) >> Tanh() >> Linear(16, act_length)"
SEED = 0

# A round of a contender: steps taken and seconds.
Round = Callable[[], tuple[int, float]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """`chunk` is ours: perturbed policies that a worker plays at once."""

    env: str
    horizon: int
    chunk: int
    iterations: int
    options: dict[str, Any]


TASKS = {
    "point": Task(env="bges_envs:DeceptivePoint-v0", horizon=50, chunk=50, iterations=4, options={"horizon": 50}),
    "halfcheetah": Task(env="HalfCheetah-v5", horizon=200, chunk=25, iterations=2, options={"max_episode_steps": 200}),
    "swimmer": Task(env="Swimmer-v5", horizon=200, chunk=25, iterations=2, options={"max_episode_steps": 200}),
}


class Clock(Silent):
    """Steps and seconds between the end of the warm-up and the last iteration."""

    def __init__(self, warmup: int) -> None:
        self._warmup = warmup
        self._marks: list[tuple[int, float]] = []

    def update(self, row: dict[str, Any]) -> None:
        self._marks.append((row["env_steps"], time.perf_counter()))

    def round(self) -> tuple[int, float]:
        (before, started), (after, ended) = self._marks[self._warmup - 1], self._marks[-1]
        return after - before, ended - started


def ours(task: Task, population: int) -> Round:
    warmup = 2
    tree = {
        "algorithm": "bges",
        "seed": SEED,
        "workers": ACTORS,
        "iterations": task.iterations + warmup,
        "env": {"id": task.env, "horizon": task.horizon},
        "policy": {"name": "mlp", "hidden": [16, 16]},
        "es": {"population": population, "sigma": SIGMA, "learning_rate": RATE, "chunk": task.chunk},
    }
    config = RunConfig.parse(tree)

    def run() -> tuple[int, float]:
        clock = Clock(warmup)
        with tempfile.TemporaryDirectory() as folder:
            run_training(config, Path(folder) / "run", progress=clock)
        return clock.round()

    return run


def peer(problem: Any, task: Task, population: int) -> Round:
    searcher = PGPE(
        problem,
        popsize=population,
        center_learning_rate=RATE,
        stdev_learning_rate=0.1,
        stdev_init=SIGMA,
        optimizer="adam",
        optimizer_config={},
        ranking_method="centered",
    )
    # The actors and their environments are made by the first step.
    searcher.step()

    def run() -> tuple[int, float]:
        before, started = problem.interaction_count, time.perf_counter()
        for _ in range(task.iterations):
            searcher.step()
        return problem.interaction_count - before, time.perf_counter() - started

    return run


class BareActor:
    """Steps one Gymnasium environment with a fixed action."""

    def __init__(self, env: str, options: dict[str, Any]) -> None:
        self._env = gymnasium.make(env, **options)
        self._action = np.zeros(self._env.action_space.shape or (), np.float32)

    def play(self, episodes: int) -> int:
        env, action, steps = self._env, self._action, 0
        for _ in range(episodes):
            env.reset()
            ended = False
            while not ended:
                _, _, terminated, truncated, _ = env.step(action)
                ended = terminated or truncated
                steps += 1
        return steps


def bare(task: Task, population: int) -> Round:
    remote = ray.remote(BareActor).options(num_cpus=0)
    actors = [remote.remote(task.env, task.options) for _ in range(ACTORS)]
    ray.get([actor.play.remote(1) for actor in actors])

    def run() -> tuple[int, float]:
        started = time.perf_counter()
        episodes = task.iterations * population // ACTORS
        steps = sum(ray.get([actor.play.remote(episodes) for actor in actors]))
        return steps, time.perf_counter() - started

    return run


def contenders(task: Task, population: int) -> dict[str, Round]:
    common: dict[str, Any] = {"env_config": task.options, "num_actors": ACTORS}
    found = {
        "ours": ours(task, population),
        "GymNE": peer(GymNE(task.env, NETWORK, **common), task, population),
        "VecGymNE": peer(VecGymNE(task.env, NETWORK, **common), task, population),
        "limit": bare(task, population),
    }
    if task.env.startswith("bges_envs:"):
        make = partial(gymnasium.make_vec, task.env, vectorization_mode="vector_entry_point")
        found["native"] = peer(VecGymNE(make, NETWORK, **common), task, population)
    return found


@contextmanager
def one_ray() -> Iterator[None]:
    # Slots for the actors of all contenders: those who wait their turn use no CPU.
    ray.init(
        address="local",
        include_dashboard=False,
        num_cpus=4 * ACTORS,
        object_store_memory=256 * 2**20,
        logging_level=logging.ERROR,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    try:
        yield
    finally:
        ray.shutdown()


def compare(name: str, population: int, rounds: int) -> dict[str, Any]:
    task = TASKS[name]
    runs = contenders(task, population)
    rates: dict[str, list[float]] = {who: [] for who in runs}
    steps: dict[str, int] = {}
    for _ in range(rounds):
        for who, run in runs.items():
            steps[who], seconds = run()
            rates[who].append(steps[who] / seconds)
    row: dict[str, Any] = {"task": name, "horizon": task.horizon, "population": population, "rounds": rounds}
    names = ("ours", "GymNE", "VecGymNE", "limit", "native")
    row |= {who: round(statistics.median(rates[who])) if who in rates else "" for who in names}
    for who in names[1:]:
        ratios = [mine / other for mine, other in zip(rates["ours"], rates.get(who, []), strict=False)]
        row[f"ours/{who}"] = round(statistics.median(ratios), 2) if ratios else ""
    expected = task.iterations * population * task.horizon
    row |= {"steps": steps["ours"], "peer_steps": steps["GymNE"]}
    if any(steps[who] != expected for who in steps if who != "ours"):
        raise RuntimeError(f"{name}: steps {steps}, expected {expected} of every peer")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--task", action="append", choices=list(TASKS), help="one task only; may be repeated")
    parser.add_argument("--out", type=Path, help="also write the table to this CSV file")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    torch.manual_seed(SEED)
    about = {
        "command": f"python {' '.join(sys.argv)}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start",
        "versions": f"python {platform.python_version()}, evotorch {evotorch.__version__}, torch {torch.__version__}, "
        f"ray {ray.__version__}, gymnasium {gymnasium.__version__}, numpy {np.__version__}",
        "seed": SEED,
    }
    rows = []
    for name in options.task or TASKS:
        with one_ray():
            rows.append(compare(name, 20 if options.quick else 200, 1 if options.quick else 3))
        print("  ".join(f"{key}: {value}" for key, value in rows[-1].items()), flush=True)
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0], *about])
            writer.writeheader()
            writer.writerows(row | about for row in rows)


if __name__ == "__main__":
    main()
