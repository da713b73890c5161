"""Plays the runs of an experiment side by side, each in a process of its own, on Ray."""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bges.bench.experiment import Job
from bges.core.problem import Problem
from bges.distributed.session import Session
from bges.distributed.shipping import ship_by_value
from bges.errors import Interrupted, RunError
from bges.runs.directory import Run
from bges.runs.evaluation import evaluate_policy
from bges.training.local import run_alone

Row = dict[str, Any]
CURVE_POINTS = 100
FINAL_EPISODES = 10
# Different from every seed of training.
FINAL_SEED = 1_000_003
SETTLED = 0.9
# What a run is said to be, and the metric that has to be as high.
VERDICTS = {
    "settled": "success_rate",
    "past": "past_wall",
    "different_goals": "different_goals",
    "same_goal": "same_goal",
}


def play_job(path: Path, problem: Problem) -> Row:
    """Start or resume a run, and judge it."""
    exists = (path / "config.yaml").exists()
    return judge(run_alone(problem, path, resume=exists), problem)


def first_success(run: Run, table: dict[str, list[Any]]) -> dict[str, int]:
    """Episodes until any episode of any policy first succeeded, to the end of its iteration; nothing where none did."""
    if not run.config.evolves:
        return {}
    names = [name for name in ("population_success", "success_rate") if name in table]
    found = np.nan_to_num(np.array([table[name] for name in names], float)).max(axis=0, initial=0.0) > 0
    each = run.config.es.population * run.config.env.episodes + run.config.evaluation.episodes
    return {"first_success": int(found.argmax() + 1) * each} if found.any() else {}


def judge(run: Run, problem: Problem) -> Row:
    """How a finished run ended: the last tenth of its evaluations, and its last policy played without noise."""
    table = run.metrics().to_pydict()
    if len(table["iteration"]) != run.config.iterations:
        raise RunError(f"{run.path} has lost a part of its metrics: delete it to run it again")
    score = np.array(table["score"], float)
    known = np.flatnonzero(np.isfinite(score))
    tail = known[-max(len(known) // 10, 1) :]
    last = evaluate_policy(run, episodes=FINAL_EPISODES, seed=FINAL_SEED, which="last", problem=problem)
    rates = {name: float(np.array(table[name], float)[tail].mean()) for name in VERDICTS.values() if name in table}
    row: Row = {f"{name}_last_tenth": round(rate, 3) for name, rate in rates.items() if np.isfinite(rate)}
    row = (
        verdicts(row)
        | row
        | {
            "score": round(float(score[tail].mean()), 3),
            "best_score": round(float(table["best_score"][-1]), 3),
            "final_return": round(last["return_mean"], 3),
            **{f"final_{name}": last[name] for name in ("success", "past_wall", "fallen", "diverged") if name in last},
            **first_success(run, table),
            "env_steps": table["env_steps"][-1],
            "seconds": round(table["wall_time"][-1], 1),
            "versions": run.versions(),
        }
    )
    shown = known[np.unique(np.linspace(0, len(known) - 1, CURVE_POINTS).astype(int))]
    row["curve"] = {
        "env_steps": np.array(table["env_steps"])[shown].tolist(),
        "wall_time": np.array(table["wall_time"])[shown].round(3).tolist(),
        "score": score[shown].round(2).tolist(),
    }
    return row


def verdicts(row: Row) -> Row:
    """What the shares of a row say a run is; also for rows that were written before a verdict had a name."""
    shares = {name: row.get(f"{share}_last_tenth") for name, share in VERDICTS.items()}
    return {name: int(share >= SETTLED) for name, share in shares.items() if share is not None}


def play_jobs(
    jobs: list[Job], session: Session, workers: int, done: Callable[[Job, Row | str], None], stopped: Callable[[], bool]
) -> None:
    """Play `workers` runs at a time, a shared one once; `done` hears the row of each, or why it failed."""
    import ray

    from bges.distributed.pool import plain

    remote = ray.remote(play_job).options(**session.run_options)
    waiting: dict[str, list[Job]] = {}
    for job in jobs:
        waiting.setdefault(str(job.path), []).append(job)
    queue = deque(waiting.values())
    running: dict[Any, list[Job]] = {}
    while queue or running:
        while queue and len(running) < workers:
            same = queue.popleft()
            # A user's modules have to exist here only.
            ship_by_value(same[0].config)
            running[remote.remote(same[0].path, Problem.of(same[0].config))] = same
        arrived, _ = ray.wait(list(running), num_returns=1, timeout=0.5)
        for ref in arrived:
            result: Row | str
            try:
                result = ray.get(ref)
            except ray.exceptions.RayError as error:
                result = plain(error)
            for job in running.pop(ref):
                done(job, result)
        if stopped():
            for ref in running:
                ray.cancel(ref, force=True)
            time.sleep(0.2)
            raise Interrupted("resume it with the same command")
