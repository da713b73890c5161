"""Behaviour of policies rather than of their episodes: what they do in states that other policies visit."""

import numpy as np
from numpy.typing import NDArray

from bges.core.problem import Problem
from bges.moments import Moments
from bges.policies import Policy
from bges.randomness import Stream, generator
from bges.rollouts import play

# A fresh policy hardly moves: noise as large as the actions makes it visit more than its start.
PROBE_NOISE = 1.0


def probe_states(problem: Problem, policy: Policy) -> NDArray[np.float64]:
    """Observations (m, o), evenly from the steps of an episode each of several fresh policies.

    A function of the configuration alone, so that all players of a run have the same.
    """
    settings = problem.embedding.function
    rngs = [generator(problem.config.seed, Stream.PROBES, i) for i in range(settings.policies)]
    thetas = np.stack([policy.initial(rng) for rng in rngs])
    seeds = np.array([rng.integers(2**64, dtype=np.uint64) for rng in rngs])
    env = problem.make_env(settings.policies)
    played = play(env, policy.batch(thetas), seeds=seeds, keep=("observations",), action_noise=PROBE_NOISE)
    env.close()
    visited = np.concatenate([seen[:length] for seen, length in zip(played.observations, played.lengths, strict=True)])
    return visited[np.linspace(0, len(visited) - 1, settings.states).round().astype(int)]


def decisions(
    policy: Policy, thetas: NDArray[np.float32], states: NDArray[np.float64], moments: Moments | None
) -> NDArray[np.float64]:
    """The actions of parameters (k, d) in states (m, o), as (k, m, a); a discrete action is a one among zeros."""
    batch = policy.batch(thetas, episodes=len(states), moments=moments)
    outputs = batch.outputs(batch.inputs(np.tile(states, (len(thetas), 1))))
    size = policy.actions.output_size
    acts = np.eye(size)[outputs.argmax(axis=1)] if policy.actions.discrete else policy.actions(outputs)
    return acts.reshape(len(thetas), len(states), size).astype(np.float64)
