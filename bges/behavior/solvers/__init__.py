"""Ways to maximise the smoothed dual: `Sgd` (the paper's Algorithm 1), `Adam` (all pairs) and `Sinkhorn` (exact)."""

from dataclasses import asdict
from typing import Any

from bges.behavior.solvers.adam import Adam
from bges.behavior.solvers.base import FeaturePotentials, FitResult, Potentials, Problem, Solver
from bges.behavior.solvers.sgd import Sgd
from bges.behavior.solvers.sinkhorn import CloudPotentials, Sinkhorn
from bges.checks import check_choice
from bges.plugins import build

__all__ = [
    "SOLVERS",
    "Adam",
    "CloudPotentials",
    "FeaturePotentials",
    "FitResult",
    "Potentials",
    "Problem",
    "Sgd",
    "Sinkhorn",
    "Solver",
    "make_solver",
    "solver_spec",
]

SOLVERS: dict[str, Any] = {solver.name: solver for solver in (Sgd, Adam, Sinkhorn)}


def make_solver(spec: str | Solver, **kwargs: Any) -> Solver:
    """A solver by name with its settings, or the one given."""
    if not isinstance(spec, str):
        return spec
    solver: Solver = build(f"solver {spec}", SOLVERS[check_choice("solver", spec, SOLVERS)], kwargs)
    return solver


def solver_spec(solver: Solver) -> dict[str, Any]:
    """What a file needs to build the solver again."""
    return {"name": solver.name, "kwargs": asdict(solver)}  # type: ignore[call-overload]
