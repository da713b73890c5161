"""How far each solver of the test functions is from the optimum, in value and in ranking; prints a Markdown table.

    OMP_NUM_THREADS=1 python benchmarks/wasserstein_error.py

Clouds of 200 against 200 normal points a standard deviation apart, standardised; means over 3 seeds. The error is that
of ⟨P,C⟩ + γ KL (the dual plus γ). Rank correlations are Spearman's: "scores" between the scores of fresh points of both
laws and their exact potentials, "novelty" between the novelty of single fresh points of ν against 8 of μ, as BGES takes
it, and the same with exact potentials. ✂ marks cut exponents. Writes benchmarks/results/wasserstein_error.csv.
"""

import csv
import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from bges.behavior import SgdSolver, TestFunctions

SEEDS = (0, 1, 2)
CASES = ((2, 1.0), (6, 1.0), (2, 0.1))
RESULT = Path(__file__).parent / "results" / "wasserstein_error.csv"

# Each row: what it says, the solver, steps per fit, fits, features, width as a multiple of the median.
ROWS: tuple[tuple[str, Any, int, int, int, float], ...] = (
    ("paper: α = 0.01, 100 single pairs", SgdSolver(), 100, 1, 1000, 1.0),
    ("… 1,000 steps", SgdSolver(), 1_000, 1, 1000, 1.0),
    ("… 10,000 steps", SgdSolver(), 10_000, 1, 1000, 1.0),
    ("… 100 fits of 100 steps, warm", SgdSolver(), 100, 100, 1000, 1.0),
    ("… width ÷ 4", SgdSolver(), 100, 1, 1000, 0.25),
    ("… width ÷ 2", SgdSolver(), 100, 1, 1000, 0.5),
    ("… width × 2", SgdSolver(), 100, 1, 1000, 2.0),
    ("… 100 features", SgdSolver(), 100, 1, 100, 1.0),
    ("… 10,000 features", SgdSolver(), 100, 1, 10_000, 1.0),
    ("… batch 16", SgdSolver(batch=16), 100, 1, 1000, 1.0),
    ("… batch 256", SgdSolver(batch=256), 100, 1, 1000, 1.0),
    ("α = 1, 100 single pairs", SgdSolver(step=1.0), 100, 1, 1000, 1.0),
    ("α = 1, 10,000 single pairs", SgdSolver(step=1.0), 10_000, 1, 1000, 1.0),
    ("α = 1, batch 64, 100 steps", SgdSolver(step=1.0, batch=64), 100, 1, 1000, 1.0),
    ("α = 1, batch 64, 10,000 steps", SgdSolver(step=1.0, batch=64), 10_000, 1, 1000, 1.0),
    ("α = 1, batch 64, 10,000 steps, width ÷ 2", SgdSolver(step=1.0, batch=64), 10_000, 1, 1000, 0.5),
    (
        "α = 1, batch 64, 10,000 steps, exponents cut at 2",
        SgdSolver(step=1.0, batch=64, clip=2.0),
        10_000,
        1,
        1000,
        1.0,
    ),
    ("adam, 300 steps", "adam", 300, 1, 1000, 1.0),
    ("sinkhorn", "sinkhorn", 5_000, 1, 1000, 1.0),
)


def draw(dim: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """x, y and fresh points of the laws of each."""
    rng = np.random.default_rng((seed, dim))
    clouds = [rng.normal(size=(n, dim)) for n in (200, 200, 500, 500)]
    for cloud in clouds[1::2]:
        cloud[:, 0] += 1.0
    return clouds[0], clouds[1], clouds[2], clouds[3]


def rank_correlation(functions: TestFunctions, exact: TestFunctions, x: Any, y: Any) -> float:
    mu = spearmanr(functions.score_mu(x), exact.score_mu(x)).statistic
    nu = spearmanr(functions.score_nu(y), exact.score_nu(y)).statistic
    return float((mu + nu) / 2.0)


def measure(row: tuple[str, Any, int, int, int, float], dim: int, gamma: float, seed: int) -> tuple[float, ...]:
    """Signed relative error of the value, rank correlations of scores and novelty, and the exponents cut."""
    _, solver, steps, fits, features, multiple = row
    x, y, fresh_x, fresh_y = draw(dim, seed)
    exact = TestFunctions(dim, gamma=gamma, solver="sinkhorn")
    exact.fit(x, y)
    assert exact.width is not None
    functions = TestFunctions(dim, features, multiple * exact.width, gamma, solver=solver, seed=seed)
    for _ in range(fits):
        functions.fit(x, y, steps=steps)
    clipped = functions.clipped
    value = exact.distance(x, y) + gamma
    error = (functions.distance(x, y) + gamma - value) / value
    scores = rank_correlation(functions, exact, fresh_x, fresh_y)
    novelty = [each.distances(fresh_x[:8], fresh_y[:, None]) for each in (functions, exact)]
    return error, scores, float(spearmanr(*novelty).statistic), clipped


def main() -> None:
    heads = [f"{dim}-D, γ = {gamma:g}" for dim, gamma in CASES]
    print(f"| | {' | '.join(f'{head}: error | rank of scores / novelty' for head in heads)} |")
    print("|---" * (1 + 2 * len(CASES)) + "|")
    about = {
        "command": "python " + " ".join(sys.argv),
        "versions": f"python {platform.python_version()}, numpy {np.__version__}",
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "seeds": " ".join(map(str, SEEDS)),
    }
    records = []
    for row in ROWS:
        cells = []
        for dim, gamma in CASES:
            error, scores, novelty, clipped = np.mean([measure(row, dim, gamma, seed) for seed in SEEDS], axis=0)
            shown = f"{100 * error + 0.0:+.1f} %".replace("-0.0", "0.0").replace("+0.0", "0.0")
            shown = shown if abs(error) < 10 else "diverged"
            cells.append(f"{shown}{' ✂' if clipped else ''} | {scores:.2f} / {novelty:.2f}")
            records.append(
                {
                    "what": row[0],
                    "dim": dim,
                    "gamma": gamma,
                    "error": f"{error:.6g}",
                    "rank_scores": f"{scores:.4f}",
                    "rank_novelty": f"{novelty:.4f}",
                    "clipped": f"{clipped:.1f}",
                }
                | about
            )
        print(f"| {row[0]} | {' | '.join(cells)} |", flush=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    with RESULT.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
