"""A run in this process alone: for many runs side by side, one on each core."""

from contextlib import closing
from pathlib import Path

from bges.algorithms import make_learner, make_player
from bges.core.problem import Problem
from bges.runs.directory import Run
from bges.training.inline import InlinePool
from bges.training.loop import Progress, prepared


def run_alone(problem: Problem, out: Path, *, resume: bool = False, progress: Progress | None = None) -> Run:
    """The run that workers would make, number for number."""
    with closing(make_player(problem)) as player:
        learner = make_learner(player)
        with prepared(problem.config, out, learner, resume=resume, progress=progress) as loop:
            loop.run(InlinePool(player, loop.stopped))
    return Run(out)
