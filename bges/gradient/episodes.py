"""Episodes cut out of what a slot played, as trajectories to embed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.trajectories import Trajectories


def finished_episodes(
    *,
    horizon: int,
    before: NDArray[Any],
    after: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[np.float64],
    finished: NDArray[np.bool_],
) -> Trajectories | None:
    """The episodes that came to their end in slots (k, T, ...), slot by slot; None where none did.

    `before` and `after` are the observations round each step.
    """
    spans = []
    for slot, ends in enumerate(finished):
        first = 0
        for last in np.flatnonzero(ends):
            spans.append((slot, slice(first, int(last) + 1)))
            first = int(last) + 1
    if not spans:
        return None
    shape = (len(spans), horizon)
    padded_rewards = np.zeros(shape)
    padded_actions = np.empty((*shape, actions.shape[2]))
    observations = np.empty((len(spans), horizon + 1, before.shape[2]))
    lengths = np.empty(len(spans), np.int64)
    for row, (slot, span) in enumerate(spans):
        length = lengths[row] = span.stop - span.start
        padded_rewards[row, :length] = rewards[slot, span]
        padded_actions[row, :length] = actions[slot, span]
        padded_actions[row, length:] = actions[slot, span.stop - 1]
        observations[row, :length] = before[slot, span]
        observations[row, length:] = after[slot, span.stop - 1]
    return Trajectories(
        rewards=padded_rewards,
        lengths=lengths,
        final_observations=observations[:, -1],
        kept_observations=observations,
        kept_actions=padded_actions,
    )
