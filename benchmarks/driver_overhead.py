"""What an iteration costs besides its rollouts, on a real embedded Ray.

    python benchmarks/driver_overhead.py [--quick] [--part point|quadruped|balance|scaling] [--out CSV]

point, quadruped: whole runs of 200 perturbations with 1, 2 and 8 workers and several chunk sizes, written to disk as
any run is. `outside` is 1 - CPU seconds of all rollouts / (wall time * cores), with min(workers, cores) cores less what
other programs of the machine took meanwhile: whatever kept a core from simulating, be it the driver, Ray, a worker
that waits or the disk. `outside_wall` blames other programs' work on us, too; `outside_cpu` is the share of all CPU
seconds of the run that were not rollouts. `driver`, `ray` and `others` are CPU seconds / wall time of the driver
process, of Ray's processes (the workers' own besides rollouts included) and of other programs. Repeats are
interleaved; of each setting the one that others disturbed least is shown. (A busy machine hides waiting: other programs
use the core of a worker that waits. Hence the next table.)

balance: the CPU milliseconds of an iteration's chunks, played here one after the other, and the share of time that
workers with a core each would wait for the last one if chunks went to whoever is free.

scaling: the driver's CPU milliseconds in an iteration as population n and parameters d grow, with real Ray actors that
play nothing and answer at once, and the fit a + b n + c n d. Peak memory is the driver's resident set.

`--out x.csv` writes x_point.csv, x_quadruped.csv, x_balance.csv and x_scaling.csv.
"""

import argparse
import csv
import dataclasses
import heapq
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_threads] = "1"

import numpy as np

import bges.distributed.actor
from bges.config.loading import load_config
from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Perturb, Played, Unit
from bges.distributed.actor import RolloutActor
from bges.distributed.session import ray_session
from bges.distributed.trainer import run_training
from bges.evolution.evaluator import Evaluator
from bges.evolution.strategy import Strategy
from bges.training.loop import Silent

CORES = len(os.sched_getaffinity(0))
POPULATION = 200
TABLE = 10_000_000
SEED = 0
PARTS = ("point", "quadruped", "balance", "scaling")

QUADRUPED: dict[str, Any] = {
    "env": {
        "id": "bges_envs:DeceptiveQuadruped-v0",
        "kwargs": {"actuation": "servo", "observe_contacts": False, "observe_time": True},
    },
    "policy": {"name": "features", "kwargs": {"features": "bges_envs.gait:gait_features"}},
    "embedding": {"name": "reward_to_go"},
    "search": {"explore": 0},
}


class CpuActor(RolloutActor):
    """Reports the CPU seconds of a chunk for its wall seconds, which mean little when workers share a core."""

    def outcome(self, unit: Unit, context: Context | None) -> Outcome:
        started = time.thread_time()
        result = super().outcome(unit, context)
        return dataclasses.replace(result, seconds=time.thread_time() - started)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    """Seconds: of the wall clock, and CPU of the driver, of it with all its descendants, and of the machine."""

    wall: float
    driver: float
    family: float
    machine: float

    @classmethod
    def take(cls) -> "Reading":
        tick = os.sysconf("SC_CLK_TCK")
        # user nice system idle iowait irq softirq steal
        total = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        parents, used = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                parents[int(path.parent.name)] = int(fields[1])
                used[int(path.parent.name)] = int(fields[11]) + int(fields[12])
        family = {os.getpid()}
        while more := {child for child, parent in parents.items() if parent in family} - family:
            family |= more
        return cls(
            wall=time.perf_counter(),
            driver=time.process_time(),
            family=sum(used[pid] for pid in family) / tick,
            machine=(sum(total) - total[3] - total[4]) / tick,
        )

    def __sub__(self, other: "Reading") -> "Reading":
        fields = {
            field.name: getattr(self, field.name) - getattr(other, field.name) for field in dataclasses.fields(self)
        }
        return Reading(**fields)


class Clock(Silent):
    """Reads the clocks after the warm-up and at the last iteration, and keeps the rows between."""

    def __init__(self, warmup: int, iterations: int) -> None:
        self._ends = (warmup, warmup + iterations)
        self._seen = 0
        self.readings: list[Reading] = []
        self.rows: list[dict[str, Any]] = []

    def update(self, row: dict[str, Any]) -> None:
        self._seen += 1
        if self.readings:
            self.rows.append(row)
        if self._seen in self._ends:
            self.readings.append(Reading.take())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    task: str
    workers: int
    chunk: int
    iterations: int
    warmup: int

    def config(self) -> RunConfig:
        source: Any = "point" if self.task == "point" else RunConfig.parse(QUADRUPED)
        keys = {"es.population": POPULATION, "es.chunk": self.chunk, "workers": self.workers, "seed": SEED}
        return load_config(source, keys | {"iterations": self.iterations + self.warmup})


def share(case: Case) -> dict[str, float]:
    """One run's iterations after the warm-up, per iteration."""
    clock = Clock(case.warmup, case.iterations)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(bges.distributed.actor, "RolloutActor", CpuActor):
        run_training(case.config(), Path(folder) / "run", progress=clock)
    used, rows = clock.readings[1] - clock.readings[0], clock.rows
    mean = {name: statistics.mean(row[f"seconds_{name}"] for row in rows) for name in ("waiting", "scoring", "update")}
    rollouts = statistics.mean(row["seconds_rollout"] * row["workers"] for row in rows)
    others = (used.machine - used.family) / used.wall
    ideal, wall = rollouts / min(case.workers, CORES), used.wall / len(rows)
    return {
        "iteration_ms": 1e3 * wall,
        "rollout_cpu_ms": 1e3 * rollouts,
        "outside": 1 - rollouts / (wall * min(case.workers, CORES - max(others, 0.0))),
        "outside_wall": 1 - ideal / wall,
        "outside_cpu": 1 - rollouts * len(rows) / used.family,
        "driver": used.driver / used.wall,
        "ray": (used.family - used.driver) / used.wall - rollouts / wall,
        "others": others,
        "wait_ms": 1e3 * (mean["waiting"] - ideal),
        "scoring_ms": 1e3 * mean["scoring"],
        "update_ms": 1e3 * mean["update"],
        "writing_ms": 1e3 * (wall - sum(mean.values())),
        "bytes_per_perturbation": statistics.mean(row["bytes_per_behavior"] for row in rows),
    }


def cases(task: str, quick: bool) -> list[Case]:
    """The chunk sizes are tried with two workers; on the quadruped, which is slow, one of them with the others."""
    iterations, warmup = {"point": (10, 3) if quick else (40, 10), "quadruped": (1, 1) if quick else (2, 1)}[task]
    chunks = {"point": (25, 50, 100), "quadruped": (25, 10, 50)}[task]
    tried = {1: chunks, 2: chunks, 8: chunks} if task == "point" else {1: chunks[:1], 2: chunks, 8: chunks[:1]}
    return [
        # Many workers on few cores take longer to start than the first iteration lasts.
        Case(task=task, workers=w, chunk=c, iterations=iterations, warmup=warmup + (w > CORES))
        for w in ((2,) if quick else (1, 2, 8))
        for c in (chunks[:1] if quick else tried[w])
    ]


def shares(task: str, quick: bool) -> Iterator[dict[str, Any]]:
    runs: dict[Case, list[dict[str, float]]] = {case: [] for case in cases(task, quick)}
    for _ in range(1 if quick or task == "quadruped" else 2):
        for case in runs:
            runs[case].append(share(case))
    for case in runs:
        best = min(runs[case], key=lambda run: run["others"])
        named = {"task": task, "workers": case.workers, "chunk": case.chunk}
        yield named | {name: round(value, 4 if value < 1 else 2) for name, value in best.items()}


def waiting(seconds: list[float], workers: int) -> float:
    """The share of the workers' time after their last chunk, when each takes the next chunk as soon as it is free."""
    ends = [0.0] * workers
    for chunk in seconds:
        heapq.heapreplace(ends, ends[0] + chunk)
    return 1 - sum(seconds) / workers / max(ends)


def balance(quick: bool) -> Iterator[dict[str, Any]]:
    for task, iterations in (("point", 5), ("quadruped", 1)):
        for chunk in (25,) if quick else (5, 10, 25, 50, 100):
            config = Case(task=task, workers=1, chunk=chunk, iterations=iterations, warmup=0).config()
            evaluator = Evaluator(Problem.of(config))
            strategy = Strategy(config, [evaluator.initial_theta()], evaluator.table)
            for _ in range(iterations):
                timings = [timed(partial(evaluator.play, strategy.context, unit)) for unit in strategy.ask()]
                strategy.tell([result for _, result in timings])
            evaluator.close()
            seconds = [spent for spent, _ in timings]
            yield {
                "task": task,
                "chunk": chunk,
                "iteration_ms": round(1e3 * sum(seconds), 1),
                "evaluation_ms": round(1e3 * seconds[0], 1),
                "chunk_ms": round(1e3 * statistics.median(seconds[1:]), 1),
                "longest_ms": round(1e3 * max(seconds), 1),
                "episode_ms": round(1e3 * sum(seconds[1:]) / POPULATION, 3),
                **{f"waiting_{workers}": round(waiting(seconds, workers), 3) for workers in (2, 4, 8)},
            }


class IdleActor(RolloutActor):
    """Answers every unit at once with numbers that mean nothing."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def outcome(self, unit: Unit, context: Context | None) -> Outcome:
        rng = np.random.default_rng(unit.index)
        shape = (unit.stop - unit.start, 1) if isinstance(unit, Perturb) else (1, unit.episodes)
        returns = rng.standard_normal(shape)
        embeddings = rng.standard_normal((*shape, 2)).astype(np.float32)
        return Played(
            unit=unit, returns=returns, peaks=returns, late=returns, embeddings=embeddings, steps=returns.size
        )


class TimedStrategy(Strategy):
    """Knows how long scoring and the step took."""

    scoring_seconds = gradient_seconds = 0.0

    def _take(self, *arguments: Any) -> Any:
        self.gradient_seconds, report = timed(lambda: super(TimedStrategy, self)._take(*arguments))
        self.scoring_seconds = report.seconds["scoring"]
        return report


@contextmanager
def idle_pool(config: RunConfig, table: Any) -> Iterator[Any]:
    import ray

    from bges.distributed.pool import WorkerPool

    remote = ray.remote(IdleActor).options(num_cpus=0, max_restarts=0)
    pool = WorkerPool(lambda: remote.remote(table), int(config.workers), config.faults, lambda: False)
    try:
        yield pool
    finally:
        pool.close()


def reset_peak() -> None:
    """Forget the largest resident set so far."""
    Path("/proc/self/clear_refs").write_text("5")


def memory_mb(name: str) -> float:
    """A field of the process's status (VmHWM: the largest resident set), in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise KeyError(name)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the process, Ray's threads included."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def driver_cost(n: int, d: int, chunk: int, table: Any, reference: Any, iterations: int) -> dict[str, Any]:
    """Median CPU milliseconds of the parts of an iteration that plays nothing."""
    tree = {"seed": SEED, "workers": CORES, "es": {"population": n, "chunk": chunk, "noise_table": len(table)}}
    config = RunConfig.parse(tree | {"search": {"explore": 0}})
    strategy = TimedStrategy(config, np.zeros(d), table)
    rows: list[dict[str, float]] = []
    with idle_pool(config, reference) as pool:
        pool.run(strategy.ask(), strategy.context)
        reset_peak()
        for _ in range(iterations + 1):
            started, sends = time.perf_counter(), pool.context_sends
            ask, (units, context) = timed(lambda: (strategy.ask(), strategy.context))
            play, results = timed(lambda: pool.run(units, context))  # noqa: B023
            tell, _ = timed(lambda: strategy.tell(results))  # noqa: B023
            wall = time.perf_counter() - started
            scoring, gradient = strategy.scoring_seconds, strategy.gradient_seconds
            traffic = sum(result.nbytes for result in results) + (pool.context_sends - sends) * context.nbytes
            parts = {"ask": ask, "dispatch": play, "scoring": scoring, "gradient": gradient}
            parts |= {"rest": tell - scoring - gradient, "total": ask + play + tell, "wall": wall}
            rows.append({f"{name}_ms": 1e3 * seconds for name, seconds in parts.items()} | {"bytes": traffic / n})
    median = {name: statistics.median(row[name] for row in rows[1:]) for name in rows[0]}
    head = {"n": n, "d": d, "chunk": chunk, "chunks": -(-n // chunk)}
    tail = {"bytes_per_perturbation": round(median.pop("bytes"), 1), "peak_mb": round(memory_mb("VmHWM"), 1)}
    return head | {name: round(value, 3) for name, value in median.items()} | tail


def scaling(quick: bool) -> Iterator[dict[str, Any]]:
    import ray

    table = np.random.default_rng(SEED).standard_normal(TABLE, dtype=np.float32)
    reference = ray.put(table)
    sizes = (100, 1000) if quick else (100, 300, 1000, 3000, 10_000)
    dimensions = (500, 10_000) if quick else (500, 5000, 20_000, 100_000)
    for d in dimensions:
        for n in sizes:
            yield driver_cost(n, d, 50, table, reference, 2 if quick else 4 if n * d > 10**8 else 11)
    for chunk in (10, 100) if quick else (10, 20, 100, 200, 500):
        yield driver_cost(sizes[-1], 500, chunk, table, reference, 2 if quick else 7)


def fit(rows: list[dict[str, Any]], name: str) -> str:
    """a + b n + c n d by least squares of relative errors, none below zero."""
    n, d, y = (np.array([row[key] for row in rows], float) for key in ("n", "d", name))
    features = {"1": np.ones_like(n), "n": n, "n d": n * d}
    kept = dict(features)
    while True:
        matrix = np.stack(list(kept.values()), axis=1) / y[:, None]
        weights, *_ = np.linalg.lstsq(matrix, np.ones(len(y)), rcond=None)
        if (weights >= 0).all() or len(kept) == 1:
            break
        del kept[list(kept)[int(np.argmin(weights * [np.median(f / y) for f in kept.values()]))]]
    slopes = dict.fromkeys(features, 0.0) | dict(zip(kept, weights, strict=True))
    worst = float(np.abs(matrix @ weights - 1).max())
    return (
        f"{name:12} {slopes['1']:8.2f} ms + {1e3 * slopes['n']:7.2f} µs per perturbation + "
        f"{1e6 * slopes['n d']:6.3f} ns per perturbation and parameter (largest error {worst:.0%})"
    )


def print_fits(rows: list[dict[str, Any]]) -> None:
    grid = [row for row in rows if row["chunk"] == 50]
    for name in ("dispatch_ms", "scoring_ms", "gradient_ms", "total_ms"):
        print(fit(grid, name))
    swept = [row for row in rows if row["n"] == rows[-1]["n"] and row["d"] == rows[-1]["d"]]
    chunks, dispatch = (np.array([row[key] for row in swept], float) for key in ("chunks", "dispatch_ms"))
    slope, start = np.polyfit(chunks, dispatch, 1)
    print(f"dispatch     {start:8.2f} ms + {slope:7.3f} ms per chunk")


def collect(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print rows as they come."""
    kept: list[dict[str, Any]] = []
    for row in rows:
        if not kept:
            print("  ".join(f"{name:>10}" for name in row))
        print("  ".join(f"{value!s:>{max(10, len(name))}}" for name, value in row.items()), flush=True)
        kept.append(row)
    return kept


def write(path: Path, rows: list[dict[str, Any]], load: str) -> None:
    import ray

    about = {
        "command": f"python {' '.join(sys.argv)}",
        "machine": f"{platform.machine()}, {CORES} cores, load {load}",
        "versions": f"python {platform.python_version()}, ray {ray.__version__}, numpy {np.__version__}",
        "seed": SEED,
    }
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *about])
        writer.writeheader()
        writer.writerows(row | about for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few small sizes, one repeat")
    parser.add_argument("--part", choices=PARTS, help="one of the tables only")
    parser.add_argument("--out", type=Path, help="also write the tables to CSV files")
    options = parser.parse_args()
    with ray_session(None, 2 * 4 * TABLE):
        for part in [options.part] if options.part else PARTS:
            load = f"{os.getloadavg()[0]:.1f} before the start"
            made = {"balance": balance, "scaling": scaling}.get(part, partial(shares, part))
            rows = collect(made(options.quick))
            if part == "scaling":
                print_fits(rows)
            if options.out:
                write(options.out.with_stem(f"{options.out.stem}_{part}"), rows, load)


if __name__ == "__main__":
    main()
