"""Score anybody's behaviour with saved test functions: does it look like μ's or like ν's?"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.behavior.costs import Floats
from bges.behavior.embeddings import Embedding
from bges.behavior.test_functions import TestFunctions
from bges.errors import InputError
from bges.trajectories import Trajectories


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


def score_trajectories(functions: TestFunctions, embedding: Embedding, trajectories: Trajectories) -> Scores:
    """Scores of trajectories of any policy, embedded as the test functions' own were."""
    points = embedding(trajectories)
    if points.shape[1] != functions.dim:
        raise InputError(
            f"the embedding {embedding.name} gives {points.shape[1]} numbers for these trajectories, "
            f"the test functions were fitted on {functions.dim}"
        )
    return score_points(functions, points)


def score_file(path: str | os.PathLike[str], points: Any) -> Scores:
    """Scores of embedded behaviours (n, d) with the test functions saved at `path`."""
    return score_points(TestFunctions.load(path), points)
