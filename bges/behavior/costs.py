"""Costs C(x, y) between behaviours: what moving one unit of mass from x to y costs.

A cost maps (n, d) and (m, d) to an (n, m) matrix. A user's own is any such function.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bges.checks import check_array, check_positive
from bges.errors import InputError, user_code
from bges.plugins import make_part, part_name

Floats = NDArray[np.float64]
CostFunction = Callable[[Floats, Floats], Floats]

# Above this dimension one matrix product beats d exact passes over the (n, m) matrix.
EXACT_DIMENSIONS = 16


def squared_distances(x: Floats, y: Floats) -> Floats:
    """‖x_i − y_j‖² of x (..., n, d) and y (..., m, d) as (..., n, m), never negative.

    Exact up to 16 dimensions, by one matrix product beyond.
    """
    if x.shape[-1] <= EXACT_DIMENSIONS:
        return _sum_over_dimensions(np.square, x, y)
    centre = y.mean(axis=-2, keepdims=True)  # the product's rounding grows with the distance from the origin
    x, y = x - centre, y - centre
    gram = x @ y.swapaxes(-1, -2)
    gram *= -2.0
    gram += np.einsum("...ij,...ij->...i", x, x)[..., :, None]
    gram += np.einsum("...ij,...ij->...i", y, y)[..., None, :]
    return np.maximum(gram, 0.0, out=gram)


def _sum_over_dimensions(function: Callable[[Floats], Floats], x: Floats, y: Floats) -> Floats:
    """Σ_k function(x_ik − y_jk), one dimension at a time so that no (..., n, m, d) array is made."""
    total = function(x[..., :, None, 0] - y[..., None, :, 0])
    for k in range(1, x.shape[-1]):
        total += function(x[..., :, None, k] - y[..., None, :, k])
    return total


@dataclass(frozen=True)
class SquaredL2:
    """‖x − y‖²."""

    name: ClassVar[str] = "squared_l2"

    def __call__(self, x: Floats, y: Floats) -> Floats:
        return squared_distances(x, y)


@dataclass(frozen=True)
class L2:
    """‖x − y‖."""

    name: ClassVar[str] = "l2"

    def __call__(self, x: Floats, y: Floats) -> Floats:
        return np.sqrt(squared_distances(x, y))


@dataclass(frozen=True)
class L1:
    """Σ_k |x_k − y_k|."""

    name: ClassVar[str] = "l1"

    def __call__(self, x: Floats, y: Floats) -> Floats:
        return _sum_over_dimensions(np.abs, x, y)


@dataclass(frozen=True)
class Lp:
    """‖x − y‖_p^p = Σ_k |x_k − y_k|^p."""

    name: ClassVar[str] = "lp"
    p: float = 2.0

    def __post_init__(self) -> None:
        check_positive("p of the lp cost", self.p)

    def __call__(self, x: Floats, y: Floats) -> Floats:
        return _sum_over_dimensions(lambda difference: np.abs(difference) ** self.p, x, y)


@dataclass(frozen=True)
class Discrete:
    """0 where x equals y in every coordinate, else 1."""

    name: ClassVar[str] = "discrete"

    def __call__(self, x: Floats, y: Floats) -> Floats:
        return np.minimum(_sum_over_dimensions(lambda difference: np.abs(np.sign(difference)), x, y), 1.0)


COSTS = {cost.name: cost for cost in (SquaredL2, L2, L1, Lp, Discrete)}


class Cost:
    """A cost with its output checked; `spec` is what a file needs to build a built-in one again."""

    def __init__(self, function: CostFunction, name: str) -> None:
        self.function = function
        self.name = name

    def __call__(self, x: Floats, y: Floats) -> Floats:
        if isinstance(self.function, tuple(COSTS.values())):
            return self.function(x, y)
        with user_code(f"cost {self.name!r}"):
            made = self.function(x, y)
        return check_array(f"output of the cost {self.name}", made, (len(x), len(y)))

    @property
    def spec(self) -> dict[str, Any]:
        built_in = isinstance(self.function, tuple(COSTS.values()))
        settings = asdict(self.function) if isinstance(self.function, Lp) else {}
        return {"name": self.name, "built_in": built_in, "kwargs": settings}

    def __repr__(self) -> str:
        return f"Cost({self.name!r})"


def make_cost(spec: "str | CostFunction | Cost", **kwargs: Any) -> Cost:
    """A cost by name, by `module:function`, or from a callable (n, d), (m, d) -> (n, m)."""
    if isinstance(spec, Cost):
        if kwargs:
            raise InputError(f"{spec!r} is built already, it takes no arguments")
        return spec
    function = make_part("cost", spec, COSTS, kwargs)
    return Cost(function, part_name(spec))


def restore_cost(spec: dict[str, Any], given: "CostFunction | Cost | None") -> Cost:
    """The cost of a saved state; one that is not built in must be given, for a file may not name code to import."""
    if given is not None:
        return make_cost(given)
    if not spec["built_in"]:
        raise InputError(f"the saved cost {spec['name']!r} is not built in: pass it as cost=")
    return make_cost(spec["name"], **spec["kwargs"])
