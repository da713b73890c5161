"""Behaviour-guided evolution strategies and policy gradients on Ray.

`train` and `load_policy` are what most need; `RunConfig` and `load_config` describe a run, `Run` is one on disk.
`Search`, or `Strategy` for the
paper's, with an `Evaluator` of a `Problem` is the algorithm itself, without Ray. `TestFunctions` score behaviours;
`bges.behavior` has the rest of that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bges.version import __version__

if TYPE_CHECKING:
    from bges.api import load_policy, train
    from bges.behavior import TestFunctions
    from bges.config.loading import load_config
    from bges.config.run import RunConfig
    from bges.core.problem import Problem
    from bges.errors import BgesError, InputError, Interrupted, RunError
    from bges.evolution.evaluator import Evaluator
    from bges.evolution.search import Search
    from bges.evolution.strategy import Strategy
    from bges.runs.directory import Run
    from bges.trajectories import Trajectories

# Loaded when first asked for: the command line answers at once, and `bges.behavior` needs numpy alone.
_HOMES = {
    "BgesError": "bges.errors",
    "Evaluator": "bges.evolution.evaluator",
    "InputError": "bges.errors",
    "Interrupted": "bges.errors",
    "Problem": "bges.core.problem",
    "Run": "bges.runs.directory",
    "RunConfig": "bges.config.run",
    "RunError": "bges.errors",
    "Search": "bges.evolution.search",
    "Strategy": "bges.evolution.strategy",
    "TestFunctions": "bges.behavior",
    "Trajectories": "bges.trajectories",
    "load_config": "bges.config.loading",
    "load_policy": "bges.api",
    "train": "bges.api",
}

__all__ = [
    "BgesError",
    "Evaluator",
    "InputError",
    "Interrupted",
    "Problem",
    "Run",
    "RunConfig",
    "RunError",
    "Search",
    "Strategy",
    "TestFunctions",
    "Trajectories",
    "__version__",
    "load_config",
    "load_policy",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bges' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
