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
    count = len(spans)
    cut_observations = np.zeros((count, horizon + 1, before.shape[2]))
    cut_actions = np.zeros((count, horizon, actions.shape[2]))
    cut_rewards = np.zeros((count, horizon))
    lengths = np.array([span.stop - span.start for _, span in spans])
    for row, (place, length) in enumerate(zip(spans, lengths, strict=True)):
        cut_observations[row, :length] = before[place]
        cut_observations[row, length] = after[place][-1]
        cut_actions[row, :length] = actions[place]
        cut_rewards[row, :length] = rewards[place]
    return Trajectories.padded(observations=cut_observations, actions=cut_actions, rewards=cut_rewards, lengths=lengths)
