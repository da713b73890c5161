"""Any distance between clouds by name: the Wasserstein test functions and the divergences behind one call."""

from functools import partial
from typing import Any, Protocol

from bges.behavior.costs import Cost, CostFunction, Floats
from bges.behavior.divergences import FORMULAS, Divergence
from bges.behavior.solvers import FitResult
from bges.behavior.states import Arrays
from bges.behavior.test_functions import KIND, TestFunctions
from bges.checks import check_choice
from bges.plugins import build


class BehaviorDistance(Protocol):
    """What BGES asks of a distance; base and x are the past, groups and y the new behaviours."""

    dim: int
    clipped: int

    def fit(self, x: Any, y: Any, steps: int | None = None, units: Any = None) -> FitResult: ...

    def distance(self, x: Any, y: Any) -> float: ...

    def distances(self, base: Any, groups: Any) -> Floats: ...

    def state(self) -> Arrays: ...


def make_distance(name: str, **kwargs: Any) -> BehaviorDistance:
    """`wasserstein`, `hellinger`, `jensen_shannon`, `kl` or `total_variation` with the arguments of its class."""
    check_choice("distance", name, ["wasserstein", *FORMULAS])
    if name == "wasserstein":
        distance: BehaviorDistance = build("distance wasserstein", TestFunctions, kwargs)
        return distance
    distance = build(f"distance {name}", partial(Divergence, name), kwargs)
    return distance


def restore_distance(state: Arrays, *, cost: CostFunction | Cost | None = None) -> BehaviorDistance:
    """The distance of a `state()`, whichever class it was."""
    if f'"kind": "{KIND}"' in str(state.get("settings", "")):
        return TestFunctions.from_state(state, cost=cost)
    return Divergence.from_state(state)
