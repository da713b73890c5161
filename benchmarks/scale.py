"""An iteration with many workers: what the driver costs, and where it is the driver that everybody waits for.

    python benchmarks/scale.py [--quick] [--out benchmarks/results/scale]

A simulation, because nobody here has 10,000 cores, of parts that are measured on this machine first, in seconds of
CPU: chunks of the quadruped, played one after the other; sending and taking a chunk (real Ray actors that answer at
once: the main thread of the driver and the busiest of its others, of which the slower decides, and all together);
a look at all workers (the pool's own and `ray.wait`, for each worker); scoring a perturbation; the weighted sum of
perturbations. Rollout times are as recorded, or with a heavy tail: each times a Pareto number of mean 1 and exponent
2.5. Chunks go to workers as the pool sends them: a driver that takes whatever has come and refills, two chunks at a
worker at most, and at the end idle workers take chunks that wait behind others.

`one` has the driver sum all perturbations; `two` the workers, each a slice of the parameters. `utilisation` is the
share of the workers' time spent playing; `driver` the share of the iteration in which the driver works; `MB` goes
through it.

First the simulation is compared with real runs of 2, 4 and 8 actors that sleep for the recorded times instead of
playing, so that it can be done with fewer cores than actors, and that do not sleep at all, so that the driver is the
limit. Then comes what was tried to keep 1,000 workers busy with 10,000 quadrupeds.
`--out` writes PREFIX.csv, PREFIX-check.csv, PREFIX-remedies.csv and PREFIX.png.
"""

import argparse
import csv
import heapq
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_threads] = "1"

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from bges.config.common import FaultsConfig
from bges.config.loading import load_config
from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.core.work import Context, Outcome, Perturb, Played, Policies, Unit
from bges.distributed.actor import RolloutActor
from bges.distributed.session import ray_session
from bges.evolution.evaluator import Evaluator
from bges.evolution.noise import weighted_sum
from bges.evolution.parts import make_novelty
from bges.evolution.step import LARGE, SLICE
from bges.evolution.strategy import Strategy

Seconds = NDArray[np.float64]
SEED = 0
TAIL = 2.5
WORKERS = (10, 100, 1000, 10_000)
# The quadruped's own policy has 104 parameters. Perturbations, parameters, perturbations in a chunk.
CASES = ((10_000, 104, 10), (10_000, 100_000, 10), (100_000, 104, 10), (100_000, 104, 50), (100_000, 100_000, 50))
# A send looked for the least busy worker among all, before the pool went through them once for many sends.
SCAN = 50e-9
RELAYS = 32


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of CPU: of the slowest thread and of all threads for a chunk; of a look at the workers, each; of a
    perturbation's score; of a direction, and of a product of direction and parameter, in the sum."""

    chunk: float
    threads: float
    look: float
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
    few, many = (cpu(lambda n=n: novelty.score(1, points[:n], points[0])) for n in (400, 4000))
    chunks = 100 if quick else 400
    main, other, threads = sleeping(np.zeros(1), chunks, 2)[1:]
    return Costs(
        chunk=max(main, other) / chunks,
        threads=threads / chunks,
        look=look(1000) / 1000,
        score=(many - few) / 3600,
        direction=max(small / 2000 - 100 * product, 0.0),
        product=product,
    )


def cpu(call: Callable[[], Any]) -> float:
    """The least of three."""
    spent = []
    for _ in range(3):
        started = time.thread_time()
        call()
        spent.append(time.thread_time() - started)
    return min(spent)


def look(workers: int) -> float:
    """One turn of the pool's loop in which nothing has come, and `ray.wait` for as many real results."""
    import ray

    from bges.distributed import pool as module

    blocked = ray.remote(Sleeper).options(num_cpus=0).remote(np.full(1, 2.0))
    unit = Perturb(iteration=0, index=0, start=0, stop=10)
    refs = [blocked.outcome.remote(unit, None) for _ in range(workers)]
    waited = cpu(lambda: ray.wait(refs, num_returns=1, timeout=0))
    ray.kill(blocked)
    pool = module.WorkerPool(Idle, workers, FaultsConfig(), lambda: False)
    for slot, ref in zip(pool._slots, refs, strict=True):
        slot.starting = None
        slot.queue.extend([(ref, module._Task(unit))] * module.DEPTH)
    turn = cpu(lambda: (pool._dispatch(), pool._enforce_deadlines()))
    # Waits for the first result, then takes whatever has come.
    return 2 * waited + turn


class Idle:
    """Where there is no actor."""

    def __init__(self) -> None:
        self.ready = self

    def remote(self) -> None:
        return None


class Sleeper(RolloutActor):
    """Takes as long as a chunk took."""

    def __init__(self, seconds: Seconds) -> None:
        self._seconds = seconds

    def outcome(self, unit: Unit, context: Context | None) -> Outcome:
        time.sleep(float(self._seconds[unit.index % len(self._seconds)]))
        assert isinstance(unit, Perturb)
        zero = np.zeros((unit.stop - unit.start, 1))
        points = np.zeros((unit.stop - unit.start, 1, 2), np.float32)
        return Played(unit=unit, returns=zero, peaks=zero, embeddings=points, steps=1)


def sleeping(seconds: Seconds, chunks: int, workers: int) -> tuple[float, float, float, float]:
    """Wall seconds of an iteration of real actors, and the driver's CPU: main thread, busiest other, all."""
    import ray

    from bges.distributed.pool import WorkerPool

    remote = ray.remote(Sleeper).options(num_cpus=0, max_restarts=0)
    pool = WorkerPool(lambda: remote.remote(seconds), workers, FaultsConfig(), lambda: False)
    try:
        spent = []
        for iteration in range(4):
            if iteration == 1:
                ray.get([slot.starting for slot in pool._slots if slot.starting is not None])
            units = [Perturb(iteration=iteration, index=i, start=i, stop=i + 10) for i in range(chunks)]
            context = Policies(iteration=iteration, thetas=np.zeros((1, 104), np.float32), moments=(None,))
            before, started = threads(), time.perf_counter()
            pool.run(units, context)
            wall, after = time.perf_counter() - started, threads()
            used = {thread: after[thread] - before.get(thread, 0.0) for thread in after}
            main = used.pop(os.getpid())
            spent.append((wall, main, max(used.values()), main + sum(used.values())))
        # The first iteration waits for workers to start.
        return min(spent[1:])
    finally:
        pool.close()


def threads() -> dict[int, float]:
    """CPU seconds of each of this process's threads."""
    found = Path("/proc/self/task").glob("*/schedstat")
    return {int(path.parent.name): int(path.read_text().split()[0]) / 1e9 for path in found}


def recorded(chunk: int, chunks: int) -> Seconds:
    """CPU seconds of chunks of perturbed quadrupeds."""
    changes = {"es.population": chunk * chunks, "es.chunk": chunk, "novelty.schedule": "constant"}
    changes |= {"novelty.finalists": 1}
    config = load_config("quadruped", changes)
    evaluator = Evaluator(Problem.of(config))
    strategy = Strategy(config, [evaluator.initial_theta()], evaluator.table)
    context = strategy.context
    units = [unit for unit in strategy.ask() if isinstance(unit, Perturb)]
    evaluator.play(context, units[0])
    found = []
    for unit in units:
        started = time.thread_time()
        evaluator.play(context, unit)
        found.append(time.thread_time() - started)
    return np.array(found)


def drawn(seconds: Seconds, count: int, tail: str) -> Seconds:
    rng = np.random.default_rng(SEED)
    times = rng.choice(seconds, count)
    return times * (1 + rng.pareto(TAIL, count)) * (TAIL - 1) / TAIL if tail == "heavy" else times


def playing(seconds: Seconds, workers: int, costs: Costs) -> tuple[float, float]:
    """Seconds until the last result is taken, and of the driver's work."""
    waiting = list(seconds[::-1])
    now, worked = 0.0, 0.0
    playing_until: list[tuple[float, int]] = []
    idle = list(range(workers - 1, -1, -1))
    # The chunk behind the one that a worker plays, and when it came.
    behind: dict[int, tuple[float, float]] = {}

    def work(spent: float) -> None:
        nonlocal now, worked
        now, worked = now + spent, worked + spent

    def begin(worker: int, chunk: float) -> None:
        work(costs.chunk / 2)
        heapq.heappush(playing_until, (now + chunk, worker))

    def dispatch(played: list[int]) -> None:
        while waiting and idle:
            worker = idle.pop()
            begin(worker, waiting.pop())
            played.append(worker)
        for worker in played:
            if waiting and worker not in behind:
                work(costs.chunk / 2)
                behind[worker] = (now, waiting.pop())
        # An idle worker takes a chunk that waits behind another.
        while not waiting and idle and behind:
            _, chunk = behind.pop(next(iter(behind)))
            begin(idle.pop(), chunk)

    dispatch([])
    while playing_until:
        now = max(now, playing_until[0][0])
        work(workers * costs.look)
        played = []
        while playing_until and playing_until[0][0] <= now:
            ended, worker = heapq.heappop(playing_until)
            work(costs.chunk / 2)
            if worker in behind:
                came, chunk = behind.pop(worker)
                heapq.heappush(playing_until, (max(ended, came) + chunk, worker))
                played.append(worker)
            else:
                idle.append(worker)
        dispatch(played)
    return now, worked


def relayed(seconds: Seconds, workers: int, costs: Costs) -> tuple[float, float]:
    """The same with a process between the driver and every 32nd part of the workers, which gets its chunks at once."""
    shares = [playing(seconds[place::RELAYS], -(-workers // RELAYS), costs)[0] for place in range(RELAYS)]
    sent = np.arange(1, RELAYS + 1) * costs.chunk / 2
    return float((sent + shares).max()) + costs.chunk / 2, RELAYS * costs.chunk


def iteration(
    seconds: Seconds,
    workers: int,
    n: int,
    d: int,
    costs: Costs,
    *,
    two: bool = False,
    play: Callable[[Seconds, int, Costs], tuple[float, float]] = playing,
) -> dict[str, float]:
    wall, driver = play(seconds, workers, costs)
    megabytes = (workers * 4 * d + n * 24 + len(seconds) * 500) / 1e6
    after = n * costs.score
    if two and n // 2 * d >= LARGE:
        slices = -(-d // SLICE)
        last, work = playing(np.full(slices, costs.total(n // 2, min(d, SLICE))), workers, costs)
        megabytes += (min(slices, workers) * 4 * n + 8 * d) / 1e6
    else:
        last = work = costs.total(n // 2, d)
    wall, driver = wall + after + last, driver + after + work
    return {
        "seconds": wall,
        "utilisation": float(seconds.sum()) / (workers * wall),
        "driver": driver / wall,
        "MB": megabytes,
        "episodes/s": n / wall,
    }


def table(tens: Seconds, costs: Costs) -> Iterator[dict[str, Any]]:
    for tail in ("recorded", "heavy"):
        for n, d, chunk in CASES:
            seconds = drawn(tens, n // 10, tail).reshape(-1, chunk // 10).sum(axis=1)
            for two in (False, True):
                for workers in WORKERS:
                    head = {"times": tail, "n": n, "d": d, "chunk": chunk, "levels": "two" if two else "one"}
                    yield head | {"workers": workers} | iteration(seconds, workers, n, d, costs, two=two)


def check(tens: Seconds, costs: Costs) -> Iterator[dict[str, Any]]:
    for workers in (2, 4, 8):
        for kind, seconds in (("sleeps", drawn(tens, 16 * workers, "heavy") / 4), ("none", np.zeros(50 * workers))):
            real, main, other, _ = sleeping(seconds, len(seconds), workers)
            row = {"actors": workers, "chunks": len(seconds), "rollouts": kind, "real_s": real}
            # On a busy machine the driver waits for a core: its CPU time, where it is the limit, says what it needs.
            row |= {"driver_cpu_s": max(main, other), "model_s": playing(seconds, workers, costs)[0]}
            yield row | {"model/real": row["model_s"] / real}


def remedies(fives: Seconds, tens: Seconds, costs: Costs) -> Iterator[dict[str, Any]]:
    """What keeps 1,000 workers busy with 10,000 quadrupeds, and what does not."""
    workers = 1000
    free, unscored = replace(costs, chunk=0.0, look=0.0), replace(costs, score=costs.score / workers)
    for tail in ("recorded", "heavy"):

        def of_ten(n: int, group: int = 1, tail: str = tail) -> Seconds:
            return drawn(tens, n // 10, tail).reshape(-1, group).sum(axis=1)

        fine = drawn(fives, 2000, tail)
        shrinking = np.concatenate([of_ten(60_000, 2), drawn(tens, 3000, tail), drawn(fives, 2000, tail)])
        tried: list[tuple[str, int, Seconds, dict[str, Any]]] = [
            ("every send looks at all workers, as before", 10_000, of_ten(10_000), {"costs": slower(costs, workers)}),
            ("now: chunks of 10", 10_000, of_ten(10_000), {}),
            ("chunks of 5", 10_000, fine, {}),
            ("chunks of 20", 10_000, of_ten(10_000, 2), {}),
            ("chunks of 5, the longest first (an oracle)", 10_000, np.sort(fine)[::-1], {}),
            ("32 relays, chunks of 10", 10_000, of_ten(10_000), {"play": relayed}),
            ("32 relays, chunks of 5", 10_000, fine, {"play": relayed}),
            ("messages that cost nothing, chunks of 10", 10_000, of_ten(10_000), {"costs": free}),
            ("messages and scores that cost nothing", 10_000, of_ten(10_000), {"costs": replace(free, score=0.0)}),
            ("20,000 perturbations, chunks of 10", 20_000, of_ten(20_000), {}),
            ("50,000, chunks of 10", 50_000, of_ten(50_000), {}),
            ("100,000, chunks of 10", 100_000, of_ten(100_000), {}),
            ("100,000, chunks of 20", 100_000, of_ten(100_000, 2), {}),
            ("100,000, chunks of 20, then 10, then 5", 100_000, shrinking, {}),
            ("100,000, 32 relays, chunks of 10", 100_000, of_ten(100_000), {"play": relayed}),
            ("the same, scores by the workers", 100_000, of_ten(100_000), {"play": relayed, "costs": unscored}),
        ]
        for name, n, seconds, changes in tried:
            row = iteration(seconds, workers, n, 104, **{"costs": costs, **changes})
            yield {"times": tail, "remedy": name, "n": n, "chunks": len(seconds)} | row


def slower(costs: Costs, workers: int) -> Costs:
    return replace(costs, chunk=costs.chunk + SCAN * workers)


def show(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = []
    for row in rows:
        rounded = {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in row.items()}
        if not kept:
            print("  ".join(f"{name:>11}" for name in rounded))
        print("  ".join(f"{value!s:>11}" for value in rounded.values()), flush=True)
        kept.append(rounded)
    print()
    return kept


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True, sharey=True, layout="constrained")
    titles = {"utilisation": "share of the workers' time spent playing", "driver": "share in which the driver works"}
    tails = {"recorded": "rollout times as recorded", "heavy": "with a heavy tail"}
    for line, (what, title) in zip(axes, titles.items(), strict=True):
        line[0].set_ylabel(title)
        for axis, (tail, times) in zip(line, tails.items(), strict=True):
            for case, (n, d, chunk) in enumerate(CASES):
                for levels, style in (("one", "--"), ("two", "-")):
                    name = {"times": tail, "n": n, "d": d, "chunk": chunk, "levels": levels}
                    of = [row for row in rows if name.items() <= row.items()]
                    label = f"n = {n:,}, d = {d:,}, chunks of {chunk}" if levels == "two" else None
                    x, y = [row["workers"] for row in of], [row[what] for row in of]
                    axis.plot(x, y, color=f"C{case}", ls=style, marker="o", ms=4, lw=1.2, label=label)
            axis.set(xscale="log", ylim=(0, 1.03))
            axis.grid(alpha=0.3)
            if what == "utilisation":
                axis.set_title(times)
                axis.axhline(0.9, color="0.5", lw=0.8)
            else:
                axis.set_xlabel("workers")
    axes[1, 1].legend(fontsize=8, loc="upper left", title="dashed: the driver sums", title_fontsize=8)
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure less")
    parser.add_argument("--out", metavar="PREFIX", help="also write tables and picture")
    options = parser.parse_args()
    load = f"{os.getloadavg()[0]:.1f}"
    fives, tens = (recorded(chunk, (30 if options.quick else 200) // chunk) for chunk in (5, 10))
    with ray_session(None, 10**8):
        costs = measure(options.quick)
        for name, seconds in (("5", fives), ("10", tens)):
            print(f"chunks of {name}: {seconds.mean():.3f} s, from {seconds.min():.3f} to {seconds.max():.3f}")
        print(costs, end="\n\n")
        tables = {"-check": show(check(tens, costs))}
    tables |= {"-remedies": show(remedies(fives, tens, costs)), "": show(table(tens, costs))}
    if options.out:
        about = {"command": f"python {' '.join(sys.argv)}", "costs": str(costs), "chunk_of_10_s": float(tens.mean())}
        about |= {"machine": f"{platform.machine()}, {os.cpu_count()} cores, load {load} before the start"}
        about |= {"versions": f"python {platform.python_version()}, numpy {np.__version__}, ray {version('ray')}"}
        about |= {"seed": SEED}
        for name, rows in tables.items():
            with Path(f"{options.out}{name}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, [*rows[0], *about])
                writer.writeheader()
                writer.writerows(row | about for row in rows)
        picture(tables[""], Path(f"{options.out}.png"))


if __name__ == "__main__":
    main()
