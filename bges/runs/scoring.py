"""Recorded behaviours, scored by the test functions of a run."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bges.behavior import TestFunctions, score_points
from bges.core.functions import own_cost
from bges.core.problem import Problem
from bges.environments import horizon_of
from bges.errors import InputError, within
from bges.runs.behaviors import COLUMN, points_of, read_rows, trajectories_of
from bges.runs.directory import Run

SCORES = ("rank", "score", "lambda_mu", "lambda_nu")


def run_functions(run: Run, between: tuple[int, int] | None = None) -> TestFunctions:
    """The test functions of a run's newest checkpoint; of several policies, those `between` two, or the first two."""
    checkpoint, _ = run.checkpoints.load_newest()
    found = checkpoint.functions()
    if between is not None:
        name = "{}-{}".format(*between)
        if name not in found:
            known = ", ".join(name for name in found if "-" in name) or "none"
            raise InputError(f"{run.path} has no test functions between {between[0]} and {between[1]}; has: {known}")
        found = {name: found[name]}
    for state in found.values():
        functions = TestFunctions.from_state(state, cost=own_cost(run.config.novelty.cost))
        if functions.potentials is not None:
            return functions
    raise InputError(
        f"{run.path} holds no fitted test functions: algorithm repulsion has them, and bges where novelty.name is "
        "wasserstein, after its second iteration"
    )


def score_table(run: Run, path: Path, between: tuple[int, int] | None = None) -> pa.Table:
    """The table of a file with columns rank, score, lambda_mu and lambda_nu, in the file's own order.

    Its rows are episodes: embedded in a column `embedding`, or whole as `observations`, `rewards` and `actions`.
    """
    functions, table = run_functions(run, between), read_rows(path)
    with within(str(path)):
        points = points_of(table, run.config.embedding) if COLUMN in table.column_names else _embedded(run, table)
        if points.shape[1] != functions.dim:
            raise InputError(
                f"its behaviours have {points.shape[1]} numbers each, those of {run.path} have {functions.dim}"
            )
        scores = score_points(functions, points)
    rank = np.empty(len(table), np.int64)
    rank[scores.ranking] = np.arange(1, len(table) + 1)
    added = zip(SCORES, (rank, scores.resemblance, scores.mu, scores.nu), strict=True)
    kept = table.drop_columns([name for name in SCORES if name in table.column_names])
    for name, values in added:
        kept = kept.append_column(name, pa.array(values))
    return kept


def _embedded(run: Run, table: pa.Table) -> NDArray[np.float64]:
    problem = Problem.of(run.config)
    env = problem.make_env(1)
    horizon = horizon_of(env)
    env.close()
    return problem.embed(trajectories_of(table, horizon, problem.embedding.needs))
