import numpy as np
import pytest

from bges.config.run import READERS, RunConfig
from bges.core.problem import Problem
from bges.evolution.evaluator import Evaluator
from bges.evolution.parts import num_members
from bges.evolution.strategy import Strategy

COMMON = {
    "iterations": 10,
    "env": {"horizon": 12},
    "policy": {"hidden": [4], "action_noise": 0.1, "normalize_observations": True},
}
SECTIONS = {
    "es": {"population": 8, "chunk": 3, "noise_table": 20_000},
    "novelty": {"features": 50, "updates": 20},
    "nsres": {"members": 3, "neighbors": 2},
}


def merged(one, other):
    return {
        key: merged(one.get(key, {}), value) if isinstance(value, dict) else value
        for key, value in {**one, **other}.items()
    }


def small_tree(changes=None):
    """A small run, with those sections that its algorithm reads."""
    algorithm = (changes or {}).get("algorithm", "bges")
    if algorithm == "bges" and (changes or {}).get("search"):
        return merged({**COMMON, "es": SECTIONS["es"]}, changes)
    own = {name: section for name, section in SECTIONS.items() if algorithm in READERS[name]}
    return merged({**COMMON, **own}, changes or {})


def small_config(changes=None):
    return RunConfig.parse(small_tree(changes))


class Local:
    """A strategy and someone who plays for it, in this process."""

    def __init__(self, config):
        self.evaluator = Evaluator(Problem.of(config))
        self.strategy = self.fresh()

    def fresh(self):
        config = self.evaluator.config
        thetas = [self.evaluator.initial_theta(i) for i in range(num_members(config))]
        return Strategy(config, thetas, self.evaluator.table)

    def step(self, strategy=None, order=None):
        strategy = strategy or self.strategy
        context, units = strategy.context, strategy.ask()
        units = units if order is None else [units[i] for i in order.permutation(len(units))]
        return strategy.tell([self.evaluator.play(context, unit) for unit in units])


@pytest.fixture
def local():
    return lambda changes=None: Local(small_config(changes))


def thetas_of(strategy):
    return b"".join(np.asarray(member.theta).tobytes() for member in strategy.population.members)
