"""What a behaviour is and how two are compared; numpy only, useful without the rest of the project.

Embeddings, from trajectories to points: `make_embedding`, `Embedding`.
Costs between points: `make_cost`, `Cost`.
Distances between clouds: `TestFunctions` (smoothed Wasserstein; solvers `SgdSolver`, `AdamSolver`, `SinkhornSolver`; a
fit reports a `FitResult`), `Divergence` (Hellinger, Jensen-Shannon, KL, total variation); by name
`make_distance`, `restore_distance`, both a `BehaviorDistance`.
Scores of single behaviours: `score_points`, as `Scores`.
Novelty against an archive: `NoveltyArchive`.
Building blocks: `RandomFeatures`, `median_width`.
"""

from bges.behavior.archive import NoveltyArchive
from bges.behavior.costs import COSTS, Cost, make_cost
from bges.behavior.distances import BehaviorDistance, make_distance, restore_distance
from bges.behavior.divergences import Divergence
from bges.behavior.embeddings import EMBEDDINGS, Embedding, make_embedding
from bges.behavior.random_features import RandomFeatures, median_width
from bges.behavior.scoring import Scores, score_points
from bges.behavior.solvers import SOLVERS, AdamSolver, FitResult, SgdSolver, SinkhornSolver, make_solver
from bges.behavior.test_functions import TestFunctions

__all__ = [
    "COSTS",
    "EMBEDDINGS",
    "SOLVERS",
    "AdamSolver",
    "BehaviorDistance",
    "Cost",
    "Divergence",
    "Embedding",
    "FitResult",
    "NoveltyArchive",
    "RandomFeatures",
    "Scores",
    "SgdSolver",
    "SinkhornSolver",
    "TestFunctions",
    "make_cost",
    "make_distance",
    "make_embedding",
    "make_solver",
    "median_width",
    "restore_distance",
    "score_points",
]
