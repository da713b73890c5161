"""Small runs for tests of training."""

import numpy as np

from bges.algorithms import make_learner, make_player
from bges.config.run import RunConfig
from bges.core.problem import Problem
from tests.evolution.conftest import COMMON, merged, small_tree
from tests.gradient.conftest import SMALL as SMALL_PG


def tree(changes=None):
    """A small run of any algorithm."""
    changes = changes or {}
    algorithm = changes.get("algorithm", "bges")
    return merged({**COMMON, "pg": SMALL_PG[algorithm]}, changes) if algorithm in SMALL_PG else small_tree(changes)


def state_of(run):
    """The arrays of the last checkpoint, as bytes."""
    checkpoint, _ = run.checkpoints.load_newest()
    return {name: array.tobytes() for name, array in checkpoint.state.arrays.items()}


def whole(changes=None):
    """The same of a run that was never stopped, without Ray and without a disk."""
    player = make_player(Problem.of(RunConfig.parse(tree(changes))))
    learner = make_learner(player)
    while not learner.done:
        context = learner.context
        learner.tell([player.play(context, unit) for unit in learner.ask()])
    return {name: np.asarray(array).tobytes() for name, array in learner.state().arrays.items()}
