"""Where the episodes are in the steps of environments that begin a new one whenever one ends."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.trajectories import Trajectories

Bools = NDArray[np.bool_]


def episode_spans(finished: Bools) -> Iterator[tuple[int, slice]]:
    """Environment and steps of every finished episode, environment by environment, of ends (k, T)."""
    for env, ends in enumerate(finished):
        first = 0
        for last in np.flatnonzero(ends):
            yield env, slice(first, int(last) + 1)
            first = int(last) + 1


def episode_numbers(finished: Bools) -> NDArray[np.int64]:
    """The number of the finished episode that each step (k, T) belongs to; -1 where it was cut."""
    numbers = np.full(finished.shape, -1)
    for number, span in enumerate(episode_spans(finished)):
        numbers[span] = number
    return numbers


def finished_episodes(
    *,
    horizon: int,
    before: NDArray[Any],
    after: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[np.float64],
    finished: Bools,
) -> Trajectories | None:
    """The episodes that finished within steps (k, T, ...), as trajectories to embed; None where none did.

    `before` and `after` are the observations round each step.
    """
    spans = list(episode_spans(finished))
    if not spans:
        return None
    count = len(spans)
    cut_observations = np.zeros((count, horizon + 1, before.shape[2]))
    cut_actions = np.zeros((count, horizon, actions.shape[2]))
    cut_rewards = np.zeros((count, horizon))
    lengths = np.array([steps.stop - steps.start for _, steps in spans])
    for row, (span, length) in enumerate(zip(spans, lengths, strict=True)):
        cut_observations[row, :length] = before[span]
        cut_observations[row, length] = after[span][-1]
        cut_actions[row, :length] = actions[span]
        cut_rewards[row, :length] = rewards[span]
    return Trajectories.padded(observations=cut_observations, actions=cut_actions, rewards=cut_rewards, lengths=lengths)
