"""What random draws of a policy gradient are for; the numbers go on from those of `bges.randomness.Stream`."""

from enum import IntEnum

import numpy as np


class GradientStream(IntEnum):
    """The numbers are part of every run's identity: add, never change."""

    SAMPLE_EPISODES = 9
    SAMPLE_ACTIONS = 10
    LAYER_NOISE = 11
    VALUE = 12
    UPDATE = 13


def generator(seed: int, stream: GradientStream, *keys: int) -> np.random.Generator:
    return np.random.default_rng([seed, int(stream), *keys])
