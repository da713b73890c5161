"""Ways to maximise the smoothed dual.

`SgdSolver` is the paper's Algorithm 1, `AdamSolver` takes all pairs, `SinkhornSolver` is exact.
"""

from dataclasses import asdict
from typing import Any

from bges.behavior.solvers.adam import AdamSolver
from bges.behavior.solvers.base import EXPONENT_LIMIT, Dual, FeaturePotentials, FitResult, Potentials, Solver
from bges.behavior.solvers.sgd import SgdSolver
from bges.behavior.solvers.sinkhorn import CloudPotentials, SinkhornSolver
from bges.checks import check_choice
from bges.plugins import build

__all__ = [
    "EXPONENT_LIMIT",
    "SOLVERS",
    "AdamSolver",
    "CloudPotentials",
    "Dual",
    "FeaturePotentials",
    "FitResult",
    "Potentials",
    "SgdSolver",
    "SinkhornSolver",
    "Solver",
    "make_solver",
    "solver_spec",
]

SOLVERS: dict[str, Any] = {solver.name: solver for solver in (SgdSolver, AdamSolver, SinkhornSolver)}


def make_solver(spec: str | Solver, **kwargs: Any) -> Solver:
    """A solver by name with its settings, or the one given."""
    if not isinstance(spec, str):
        return spec
    solver: Solver = build(f"solver {spec}", SOLVERS[check_choice("solver", spec, SOLVERS)], kwargs)
    return solver


def solver_spec(solver: Solver) -> dict[str, Any]:
    """What a file needs to build the solver again."""
    return {"name": solver.name, "kwargs": asdict(solver)}  # type: ignore[call-overload]
