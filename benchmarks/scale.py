"""An iteration with many workers: what the driver costs, and where it is the driver that everybody waits for.

    python benchmarks/scale.py [--quick] [--check] [--out CSV]

A simulation, because nobody here has 10,000 cores. It has three parts that are measured on this machine first: the
driver's CPU time to send and take a chunk (real Ray actors that answer at once), to score a perturbation, and to sum
perturbations (per direction and per product of direction and parameter). Rollout times are recorded ones: seconds of
the quadruped's chunks, played here, as they are and with a heavy tail (each times a Pareto number of mean 1 and
exponent 2.5). Then chunks go to workers as the pool sends them: one driver, which handles one message at a time, two
chunks at a worker at most.

`one` has the driver sum all perturbations; `two` the workers, each a slice of the parameters. `utilisation` is the
workers' time spent playing; `driver` the share of the iteration in which the driver works; `MB` goes through it.

`--check` compares the simulation with real runs of 2, 4 and 8 actors that sleep for the recorded times instead of
playing, so that it can be done with fewer cores than actors.
"""

import argparse
import csv
import heapq
import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_threads] = "1"

import numpy as np
from numpy.typing import NDArray

from bges.distributed.actor import RolloutActor
from bges.distributed.session import ray_session
from bges.evolution.evaluator import Evaluator
from bges.evolution.noise import weighted_sum
from bges.evolution.novelty import make_novelty
from bges.evolution.reduction import SLICE
from bges.evolution.strategy import Strategy
from bges.evolution.units import Context, Result, Unit
from bges.problem import Problem
from bges.runs.config import FaultsConfig, RunConfig, load_config

DEPTH = 2
SEED = 0
TAIL = 2.5
# Perturbations, parameters and perturbations in a chunk.
CASES = ((10_000, 1000, 10), (10_000, 100_000, 10), (100_000, 1000, 10), (100_000, 1000, 50), (100_000, 100_000, 50))


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of the driver's CPU: for a chunk, a perturbation's score, a direction, a product in the sum."""

    chunk: float
    score: float
    direction: float
    product: float

    def total(self, directions: int, dimension: int) -> float:
        return directions * (self.direction + dimension * self.product)


def measure(quick: bool) -> Costs:
    rng = np.random.default_rng(SEED)
    table = rng.standard_normal(10_000_000, dtype=np.float32)
    places, weights = rng.integers(0, 9_000_000, 2000), rng.normal(size=2000)
    small, large = (cpu(lambda d=d: weighted_sum(table, places, weights, d)) for d in (100, 50_000))
    product = (large - small) / (2000 * 49_900)
    novelty = make_novelty(RunConfig())
    assert novelty is not None
    points = rng.normal(size=(4000, 1, 2))
    novelty.score(0, points, points[0])
    score = cpu(lambda: novelty.score(1, points, points[0])) / 4000
    return Costs(
        chunk=cost_of_a_chunk(50 if quick else 400),
        score=score,
        direction=max(small / 2000 - 100 * product, 0.0),
        product=product,
    )


def cpu(call: Any) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


class Sleeper(RolloutActor):
    """Takes as long as a chunk took."""

    def __init__(self, seconds: NDArray[np.float64]) -> None:
        self._seconds = seconds

    def evaluate(self, unit: Unit, context: Context | None) -> Result:
        time.sleep(float(self._seconds[unit.index % len(self._seconds)]))
        zero = np.zeros((unit.stop - unit.start, 1))
        points = np.zeros((unit.stop - unit.start, 1, 2), np.float32)
        return Result(unit=unit, rewards=zero, peaks=zero, embeddings=points, steps=1)


def sleeping(seconds: NDArray[np.float64], chunks: int, workers: int) -> tuple[float, float]:
    """Wall and CPU seconds of the driver in an iteration of real actors that sleep."""
    import ray

    from bges.distributed.pool import WorkerPool

    remote = ray.remote(Sleeper).options(num_cpus=0, max_restarts=0)
    pool = WorkerPool(lambda: remote.remote(seconds), workers, FaultsConfig(), lambda: False)
    try:
        spent = []
        for iteration in range(4):
            units = [Unit(iteration=iteration, index=i, kind="perturb", start=i, stop=i + 10) for i in range(chunks)]
            context = Context(iteration=iteration, thetas=np.zeros((1, 500), np.float32), moments=(None,))
            wall, used = time.perf_counter(), time.process_time()
            pool.run(units, context)
            spent.append((time.perf_counter() - wall, time.process_time() - used))
            # The first iterations wait for workers to start.
        return min(spent[1:])
    finally:
        pool.close()


def cost_of_a_chunk(chunks: int) -> float:
    return sleeping(np.zeros(1), chunks, 2)[1] / chunks


def recorded(quick: bool) -> NDArray[np.float64]:
    """CPU seconds of chunks of 10 perturbed quadrupeds."""
    population = 20 if quick else 200
    config = load_config("quadruped", {"es.population": population, "es.chunk": 10, "novelty.schedule": "constant"})
    evaluator = Evaluator(Problem.of(config))
    strategy = Strategy(config, [evaluator.initial_theta()], evaluator.table)
    context = strategy.context
    units = [unit for unit in strategy.ask() if unit.kind == "perturb"]
    evaluator.evaluate(context, units[0])
    return np.array([cpu(lambda unit=unit: evaluator.evaluate(context, unit)) for unit in units])


def heavy(seconds: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(SEED)
    return rng.choice(seconds, count) * (1 + rng.pareto(TAIL, count)) * (TAIL - 1) / TAIL


def playing(seconds: NDArray[np.float64], workers: int, chunk: float) -> tuple[float, float]:
    """Seconds until the last result is taken, and of the driver's work: every message waits for its turn."""
    waiting = list(seconds[::-1])
    driver, free = 0.0, np.zeros(workers)
    results: list[tuple[float, int]] = []

    def send(worker: int) -> None:
        nonlocal driver
        driver += chunk / 2
        free[worker] = max(free[worker], driver) + waiting.pop()
        heapq.heappush(results, (float(free[worker]), worker))

    for worker in [*range(workers)] * DEPTH:
        if waiting:
            send(worker)
    while results:
        arrived, worker = heapq.heappop(results)
        driver = max(driver, arrived) + chunk / 2
        if waiting:
            send(worker)
    return driver, len(seconds) * chunk


def iteration(
    seconds: NDArray[np.float64], workers: int, n: int, d: int, costs: Costs, *, two: bool
) -> dict[str, float]:
    wall, driver = playing(seconds, workers, costs.chunk)
    after = n * costs.score
    megabytes = (workers * 4 * d + n * 24 + len(seconds) * 500) / 1e6
    if two:
        slices = -(-d // SLICE)
        each = costs.total(n // 2, min(d, SLICE))
        last, work = playing(np.full(slices, each), workers, costs.chunk)
        after, driver = after + last, driver + work
        megabytes += (min(slices, workers) * 4 * n + 8 * d) / 1e6
    else:
        after += costs.total(n // 2, d)
        driver += costs.total(n // 2, d)
    wall, driver = wall + after, driver + n * costs.score
    return {
        "seconds": wall,
        "utilisation": float(seconds.sum()) / (workers * wall),
        "driver": driver / wall,
        "MB": megabytes,
    }


def table(seconds: NDArray[np.float64], costs: Costs) -> Iterator[dict[str, Any]]:
    for tail in ("as recorded", "heavy"):
        for workers in (10, 100, 1000, 10_000):
            for n, d, chunk in CASES:
                tens = np.resize(seconds, n // 10) if tail == "as recorded" else heavy(seconds, n // 10)
                drawn = tens.reshape(-1, chunk // 10).sum(axis=1)
                for two in (False, True):
                    row = iteration(drawn, workers, n, d, costs, two=two)
                    head = {
                        "times": tail,
                        "workers": workers,
                        "n": n,
                        "d": d,
                        "chunk": chunk,
                        "levels": "two" if two else "one",
                    }
                    yield head | {name: round(value, 4) for name, value in row.items()}


def check(seconds: NDArray[np.float64], costs: Costs) -> Iterator[dict[str, Any]]:
    for workers in (2, 4, 8):
        drawn = heavy(seconds, 16 * workers) / 4
        real, _ = sleeping(drawn, len(drawn), workers)
        model, _ = playing(drawn, workers, costs.chunk)
        yield {"actors": workers, "real_s": round(real, 3), "model_s": round(model, 3), "ratio": round(real / model, 3)}


def show(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = []
    for row in rows:
        if not kept:
            print("  ".join(f"{name:>11}" for name in row))
        print("  ".join(f"{value!s:>11}" for value in row.values()), flush=True)
        kept.append(row)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure less")
    parser.add_argument("--check", action="store_true", help="also compare with real actors")
    parser.add_argument("--out", type=Path, help="also write the table to a CSV file")
    options = parser.parse_args()
    load = f"{os.getloadavg()[0]:.1f}"
    seconds = recorded(options.quick)
    with ray_session(None, 10**8):
        costs = measure(options.quick)
        print(f"chunks of 10: {seconds.mean():.3f} s, from {seconds.min():.3f} to {seconds.max():.3f}; {costs}")
        if options.check:
            show(check(seconds, costs))
    rows = show(table(seconds, costs))
    if options.out:
        about = {"command": f"python {' '.join(sys.argv)}", "costs": str(costs), "chunk_seconds": seconds.mean()}
        about |= {"machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load} before the start"}
        about |= {"versions": f"python {platform.python_version()}, numpy {np.__version__}", "seed": SEED}
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0], *about])
            writer.writeheader()
            writer.writerows(row | about for row in rows)


if __name__ == "__main__":
    main()
