"""The unperturbed policies of a run's kept checkpoints, played again."""

from dataclasses import dataclass

import numpy as np

from bges.core.problem import Problem
from bges.environments import member_seeds
from bges.policies import FixedPolicy
from bges.report.material import ANY_FAILURE, Floats, Material
from bges.rollouts import play
from bges.runs.checkpoints import Checkpoint

EPISODES = 3
MOST_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Where a policy went: paths (t, 2), one for each episode; `iteration` None is the best policy."""

    iteration: int | None
    paths: list[Floats]
    total_return: float

    @property
    def label(self) -> str:
        return "best policy" if self.iteration is None else f"after {self.iteration} iterations"


def walk(problem: Problem, policy: FixedPolicy, *, episodes: int, iteration: int | None = None) -> Walk:
    """Episodes without exploration noise."""
    env = problem.make_env(episodes)
    try:
        batch = policy.architecture.batch(policy.theta[None], episodes=episodes, moments=policy.moments)
        played = play(env, batch, seeds=member_seeds(0, episodes), keep=["observations"])
    finally:
        env.close()
    paths = []
    for seen, length in zip(played.observations, played.lengths, strict=True):
        path = np.asarray(seen[: length + 1, :2], float)
        paths.append(path[np.unique(np.linspace(0, len(path) - 1, MOST_STEPS).astype(int))])
    return Walk(iteration=iteration, paths=paths, total_return=float(played.returns.mean()))


def walks(run: Material) -> list[Walk]:
    """Those of the kept checkpoints, oldest first, then the best policy; empty where the task has no plane."""
    if run.run is None or run.problem is None or not getattr(run.task, "observes_plane", False):
        return []
    kept = list(run.checkpoints.values())
    if not kept:
        return []
    asked: list[tuple[Checkpoint, str, int | None]] = [(one, "last", one.iteration) for one in kept]
    if "best" in kept[-1].state.policies:
        asked.append((kept[-1], "best", None))
    found = []
    for checkpoint, which, iteration in asked:
        try:
            policy = run.run.policy(which, run.problem, checkpoint)
            found.append(walk(run.problem, policy, episodes=EPISODES, iteration=iteration))
        except ANY_FAILURE as error:
            run.note(f"its policy after {checkpoint.iteration} iterations cannot be played: {error}")
    return found
