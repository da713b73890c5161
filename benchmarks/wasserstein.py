"""Milliseconds of the test functions and of Sinkhorn against POT (and OTT-JAX if it is installed), in one run.

    OMP_NUM_THREADS=1 python benchmarks/wasserstein.py

One update of the test functions is 100 warm-start steps with m = 1000 features on 200 against 200 points. The Sinkhorns
run on the same clouds and make the cost matrix themselves; ours stops no less accurate in the value than the peer.
Writes benchmarks/results/wasserstein.csv.
"""

import csv
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import ot

import bges_envs  # noqa: F401
from bges.behavior import NoveltyArchive, SinkhornSolver, TestFunctions, make_cost
from bges.environments import make_vector_env, member_seeds
from bges.policies import MLP
from bges.rollouts import play

N, SEED, REPEATS = 200, 0, 15
# The peers' stopping rule; ours is then set to be no less accurate in the value.
THRESHOLD = 1e-6
POT_METHODS = ("sinkhorn", "sinkhorn_stabilized", "sinkhorn_log")
RESULT = Path(__file__).parent / "results" / "wasserstein.csv"


def milliseconds(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The best time of a call: the machine may be shared."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000.0 * min(times)


def clouds(dim: int, shift: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng((SEED, dim))
    x, y = rng.normal(size=(N, dim)), rng.normal(size=(N, dim))
    y[:, 0] += shift
    return x, y


def point_iteration() -> float:
    """Milliseconds to play as many perturbed policies on the deceptive point as a cloud has points, on one core."""
    env = make_vector_env("bges_envs:DeceptivePoint-v0", N)
    policy = MLP(env.single_observation_space, env.single_action_space)
    theta = policy.initial(np.random.default_rng(SEED))
    noise = np.random.default_rng(SEED + 1).standard_normal((N, len(theta))).astype(np.float32)
    seeds = member_seeds(SEED, N)
    batch = policy.batch(theta + 0.1 * noise)
    return milliseconds(lambda: play(env, batch, seeds=seeds, action_noise=0.1), 5)


def update_rows() -> list[dict[str, Any]]:
    iteration = point_iteration()
    rows = []
    for dim in (2, 50, 400):
        x, y = clouds(dim)
        functions = TestFunctions(dim)
        functions.fit(x, y, steps=100)
        calls = {
            f"sgd update, d = {dim}": partial(functions.fit, x, y, steps=100),
            f"novelty of 200 perturbations, d = {dim}": partial(functions.distances, x[:2], y[:, None]),
        }
        for what, call in calls.items():
            against = "200 rollouts of the point"
            rows.append({"what": what, "ms": milliseconds(call), "against": against, "peer_ms": iteration, "error": ""})
    return rows


def sinkhorn_rows() -> list[dict[str, Any]]:
    rows = []
    for dim, gamma in ((2, 1.0), (2, 0.1), (6, 1.0), (6, 0.1)):
        problem = SinkhornProblem(dim, gamma)
        peers = {f"POT {method}": partial(problem.pot, method) for method in POT_METHODS}
        if find_spec("ott"):
            peers["OTT-JAX"] = problem.ott
        for name, peer in peers.items():
            error = problem.error(peer())
            slow = milliseconds(peer, 1 if name == "POT sinkhorn_log" else 5)
            solver = problem.loosest(error)
            rows.append(
                {
                    "what": f"sinkhorn, d = {dim}, gamma = {gamma}",
                    "ms": milliseconds(partial(problem.ours, solver)),
                    "against": name,
                    "peer_ms": slow,
                    "error": f"{problem.error(problem.ours(solver)):.0e} / {error:.0e}",
                }
            )
    return rows


class SinkhornProblem:
    """One pair of clouds; each method gives ⟨P, C⟩ + γ KL(P | μ⊗ν), starting from the points."""

    def __init__(self, dim: int, gamma: float) -> None:
        self.dim, self.gamma = dim, gamma
        self.x, self.y = clouds(dim)
        self.exact = self.ours(SinkhornSolver(tolerance=1e-12))

    def error(self, value: float) -> float:
        return abs(value - self.exact) / self.exact

    def ours(self, solver: SinkhornSolver) -> float:
        functions = TestFunctions(self.dim, 1, 1.0, self.gamma, solver=solver, standardize=False)
        return functions.fit(self.x, self.y).value + self.gamma

    def loosest(self, error: float) -> SinkhornSolver:
        """Our solver at the first power of ten at which it is no less accurate than `error`."""
        solvers = [SinkhornSolver(tolerance=10.0**-power) for power in range(1, 12)]
        return next(solver for solver in solvers if self.error(self.ours(solver)) <= error)

    def pot(self, method: str) -> float:
        weights = np.full(N, 1.0 / N)
        cost = make_cost("squared_l2")(self.x, self.y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = ot.sinkhorn(weights, weights, cost, self.gamma, method=method, stopThr=THRESHOLD, numItermax=20_000)
        mass = plan[plan > 0]
        return float((plan * cost).sum() + self.gamma * (mass * np.log(mass * plan.size)).sum())

    def ott(self) -> float:
        from ott.geometry import pointcloud
        from ott.solvers import linear

        geometry = pointcloud.PointCloud(self.x, self.y, epsilon=self.gamma)
        return float(linear.solve(geometry, threshold=THRESHOLD, max_iterations=20_000).reg_ot_cost)


def archive_rows() -> list[dict[str, Any]]:
    from scipy.spatial import cKDTree

    rows = []
    for dim in (2, 50):
        rng = np.random.default_rng((SEED, dim))
        points, queries = rng.normal(size=(100_000, dim)), rng.normal(size=(200, dim))
        archive = NoveltyArchive(dim)
        archive.add(points)

        def tree() -> None:
            cKDTree(points).query(queries, k=10)  # noqa: B023

        rows.append(
            {
                "what": f"novelty of 200 in 100,000, d = {dim}",
                "ms": milliseconds(lambda: archive.novelty(queries)),  # noqa: B023
                "against": "scipy cKDTree, built and asked",
                "peer_ms": milliseconds(tree, 3 if dim == 2 else 1),
                "error": "",
            }
        )
    return rows


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = [*update_rows(), *sinkhorn_rows(), *archive_rows()]
    print(f"{'what':38} {'ms':>8} {'against':>32} {'ms':>9} {'ours/theirs':>12} {'errors':>16}")
    for row in rows:
        row["ratio"] = row["ms"] / row["peer_ms"]
        print(
            f"{row['what']:38} {row['ms']:8.2f} {row['against']:>32} {row['peer_ms']:9.1f} "
            f"{row['ratio']:12.3f} {row['error']:>16}"
        )
    about = {
        "command": "python " + " ".join(sys.argv),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "versions": f"python {platform.python_version()}, numpy {np.__version__}, POT {ot.__version__}",
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        "seed": SEED,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    with RESULT.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["what", "ms", "against", "peer_ms", "ratio", "error", *about])
        writer.writeheader()
        writer.writerows(
            row | about | {"ms": f"{row['ms']:.3f}", "peer_ms": f"{row['peer_ms']:.3f}", "ratio": f"{row['ratio']:.4f}"}
            for row in rows
        )
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
