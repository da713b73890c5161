"""Small runs for tests of training."""

import numpy as np

from bges.algorithms import make_learner, make_player
from bges.config.run import RunConfig
from bges.core.problem import Problem
from tests.evolution.conftest import SMALL, merged
from tests.gradient.conftest import SMALL as SMALL_PG


def tree(changes=None):
    return merged({**SMALL, "pg": SMALL_PG}, changes or {})


def state_of(run):
    """The arrays of the last checkpoint, as bytes."""
    checkpoint, _ = run.checkpoints.load_newest()
    return {name: array.tobytes() for name, array in checkpoint.arrays.items()}


def whole(changes=None):
    """The same of a run that was never stopped, without Ray and without a disk."""
    player = make_player(Problem.of(RunConfig.parse(tree(changes))))
    learner = make_learner(player)
    while not learner.done:
        context = learner.context
        learner.tell([player.evaluate(context, unit) for unit in learner.ask()])
    return {name: np.asarray(array).tobytes() for name, array in learner.state()[1].items()}
