"""Evaluation of a run's policy."""

from collections.abc import Collection
from typing import Any

import numpy as np

from bges.core.problem import Problem
from bges.environments import member_seeds
from bges.rollouts import play
from bges.runs.directory import Run
from bges.trajectories import Trajectories


def play_policy(
    run: Run,
    *,
    episodes: int,
    seed: int,
    which: str,
    member: int | None = None,
    problem: Problem | None = None,
    keep: Collection[str] = (),
) -> Trajectories:
    """Episodes without exploration noise."""
    problem = problem or Problem.of(run.config)
    policy = run.policy(which, problem, member=member)
    env = problem.make_env(episodes)
    batch = policy.architecture.batch(policy.theta[None], episodes=episodes, moments=policy.moments)
    played = play(env, batch, seeds=member_seeds(seed, episodes), keep=keep)
    env.close()
    return played


def told(played: Trajectories) -> dict[str, float]:
    """Returns, lengths and what the environment reported."""
    return {
        "return_mean": float(played.returns.mean()),
        "return_std": float(played.returns.std()),
        "return_min": float(played.returns.min()),
        "return_max": float(played.returns.max()),
        "length_mean": float(played.lengths.mean()),
        **{name: float(np.mean(values)) for name, values in played.flags.items()},
    }


def evaluate_policy(
    run: Run, *, episodes: int, seed: int, which: str, member: int | None = None, problem: Problem | None = None
) -> dict[str, Any]:
    """Returns, lengths and flags of a run's policy without exploration noise."""
    played = play_policy(run, episodes=episodes, seed=seed, which=which, member=member, problem=problem)
    return {"policy": which, "episodes": episodes, "seed": seed, **told(played)}
