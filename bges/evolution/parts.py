"""Which parts an algorithm is made of: what it calls new, and which policies it evolves."""

import numpy as np
from numpy.typing import NDArray

from bges.config.run import RunConfig
from bges.core.snapshot import Snapshot
from bges.evolution.member import Member
from bges.evolution.novelty import ArchiveNovelty, DistanceNovelty, EuclideanNovelty, Novelty, RandomNovelty
from bges.evolution.population import NoveltyProportional, Population

Array = NDArray[np.float64]


def num_members(config: RunConfig) -> int:
    """How many policies an algorithm evolves."""
    return config.nsres.members if config.algorithm == "nsres" else 1


def make_parts(config: RunConfig, thetas: Array, expert: Array | None) -> tuple[Novelty | None, Population]:
    """The novelty, None for plain ES, and the population of first parameters `thetas` (members, d)."""
    members = [Member(config, Snapshot(theta=theta, moments=None)) for theta in thetas]
    if config.algorithm == "nsres":
        archive = ArchiveNovelty(config)
        return archive, NoveltyProportional(config, members, archive)
    return make_novelty(config, expert), Population(config, members)


def make_novelty(config: RunConfig, expert: Array | None = None) -> Novelty | None:
    if config.algorithm == "es":
        return None
    if config.novelty.name == "l2":
        return EuclideanNovelty(config, expert)
    if config.novelty.name == "random":
        return RandomNovelty(config)
    return DistanceNovelty(config, expert)
