"""Score anybody's behaviour with test functions: does it look like μ's or like ν's?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.behavior.costs import Floats
from bges.behavior.test_functions import TestFunctions


@dataclass(frozen=True, kw_only=True)
class Scores:
    """λ_μ and λ_ν of n behaviours, each (n,); both are higher where μ has mass than where ν has."""

    mu: Floats
    nu: Floats

    @property
    def resemblance(self) -> Floats:
        """½ (λ_μ + λ_ν), as (n,): the higher, the more like μ rather than ν."""
        mean: Floats = (self.mu + self.nu) / 2.0
        return mean

    @property
    def ranking(self) -> NDArray[np.intp]:
        """Indices of the behaviours, the most μ-like first; ties in their own order."""
        return np.argsort(-self.resemblance, kind="stable")


def score_points(functions: TestFunctions, points: Any) -> Scores:
    """Scores of embedded behaviours (n, d)."""
    return Scores(mu=functions.score_mu(points), nu=functions.score_nu(points))
