"""Every random number of a run: a generator is made anew from what the draw is for, never carried along."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a draw is for. The numbers are part of every run's identity: add, never change."""

    NOISE_TABLE = 1
    INITIAL = 2
    OFFSETS = 3
    EPISODES = 4
    EVALUATION = 5
    MEMBER = 6
    TEST_FUNCTIONS = 7
    RANDOM_NOVELTY = 8
    SAMPLE_EPISODES = 9
    SAMPLE_ACTIONS = 10
    LAYER_NOISE = 11
    VALUE = 12
    UPDATE = 13
    PROBES = 14


def generator(seed: int, stream: Stream, *keys: int) -> np.random.Generator:
    return np.random.default_rng([seed, int(stream), *keys])
