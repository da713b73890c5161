"""Seconds of an iteration of the policy gradients: sampling, update, value fit, compilation; and what the extra costs.

    OMP_NUM_THREADS=1 python benchmarks/gradient_learner.py

HalfCheetah-v5, batch 2048, 10 actions in each state, 100 updates, 100 features, one process. The learner's share is
the update's: values are fitted while the next batch is sampled. Writes benchmarks/results/gradient_learner.csv.
"""

import csv
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

from bges.algorithms import make_learner, make_player
from bges.config.loading import load_config
from bges.core.problem import Problem
from bges.core.work import Sample

ITERATIONS = 4
EXTRA = ("jax", "jaxlib", "optax", "ml_dtypes", "opt_einsum")
BATCH = {"pg.batch": 2048, "pg.num_envs": 8, "pg.chunk": 8}
ASCENT = {"pg.updates": 100}
BGPG = ASCENT | {"pg.actions": 10, "pg.features": 100}
CASES: dict[str, dict[str, Any]] = {
    "bgpg": BGPG,
    "bgpg, 512 states a step": BGPG | {"pg.minibatch": 512},
    "bgpg, all 2048 states in every step": BGPG | {"pg.minibatch": 2048},
    "bgpg, features by Adam": BGPG | {"pg.dual": "adam"},
    "pg": ASCENT | {"algorithm": "pg"},
    "particles": ASCENT | {"algorithm": "particles"},
    "trpo": {"algorithm": "trpo"},
    "noisynet_trpo": {"algorithm": "noisynet_trpo"},
}
RESULT = Path(__file__).parent / "results" / "gradient_learner.csv"


def measure(changes: dict[str, Any]) -> dict[str, float]:
    """Medians over iterations after the first, which also compiles."""
    settings = BATCH | changes | {"iterations": ITERATIONS + 1, "evaluation.every": 1000}
    player = make_player(Problem.of(load_config("bgpg-halfcheetah", settings)))
    learner = make_learner(player)
    rows = []
    for _ in range(ITERATIONS + 1):
        context = learner.context
        results = [player.play(context, unit) for unit in learner.ask()]
        sampled = sum(result.seconds for result in results if isinstance(result.unit, Sample))
        started = time.perf_counter()
        learner.tell(results)
        told = time.perf_counter()
        learner.conclude()
        fitted = time.perf_counter() - told
        rows.append({"sampling": sampled, "update": told - started, "value_fit": fitted})
    found = {name: statistics.median(row[name] for row in rows[1:]) for name in rows[0]}
    found["learner_share"] = found["update"] / (found["update"] + found["sampling"])
    found["first_update"] = rows[0]["update"]
    return {name: round(value, 4) for name, value in found.items()}


def extra() -> str:
    """Seconds to import what learns, and the size of the packages that it needs on disk."""
    code = "import time; s = time.perf_counter(); import bges.gradient.learner; print(time.perf_counter() - s)"
    base = "import bges.gradient.players;"
    seconds = [float(subprocess.check_output([sys.executable, "-c", base + code])) for _ in range(3)]
    files = [Path(str(file.locate())) for name in EXTRA for file in distribution(name).files or []]
    size = sum(file.stat().st_size for file in files if file.exists())
    return f"import {min(seconds):.2f} s, {size / 2**20:.0f} MB installed"


def main() -> None:
    where = {
        "command": "python benchmarks/gradient_learner.py",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "versions": " ".join(f"{name} {version(name)}" for name in ("jax", "optax", "numpy")),
        "extra": extra(),
        "seed": 0,
    }
    print(where["extra"])
    rows = []
    for name, changes in CASES.items():
        rows.append({"method": name, **measure(changes), **where})
        print({key: value for key, value in rows[-1].items() if key not in where}, flush=True)
    with RESULT.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
