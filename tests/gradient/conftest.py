import os
from dataclasses import replace

import numpy as np
import pytest

from bges.evolution.evaluator import Problem
from bges.gradient.config import GradientConfig
from bges.gradient.policy import policy_class
from bges.gradient.sampler import Sampler
from bges.runs.config import RunConfig

# Here programs run for milliseconds and take seconds to compile.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")

SMALL = {"batch": 80, "slots": 4, "chunk": 3, "value_hidden": [8], "value_epochs": 2, "value_minibatch": 16}
SMALL |= {"updates": 4, "minibatch": 16, "features": 10, "actions": 4, "particles": 4, "sinkhorn_steps": 5}
AIM = {"id": "tests.gradient.toys:Aim", "horizon": 5}


class Local:
    """A learner and someone who samples for it, in this process."""

    def __init__(self, method, settings, tree):
        base = {"env": AIM, "policy": {"hidden": [8], "normalize_observations": True}}
        self.method, self.settings = method, GradientConfig(**(SMALL | settings))
        self.config = RunConfig.parse(base | tree)
        make = policy_class(self.config.policy.name, method, self.settings)
        self.sampler = Sampler(replace(Problem.of(self.config), policy_class=make), self.settings)
        self.learner = self.fresh()

    def fresh(self):
        from bges.gradient.learner import PolicyGradient

        theta = self.sampler.initial_theta()
        return PolicyGradient(self.config, self.settings, self.method, self.sampler.policy, theta)

    def results(self, learner=None):
        learner = learner or self.learner
        context = learner.context
        return [self.sampler.evaluate(context, unit) for unit in learner.ask()]

    def step(self, learner=None):
        learner = learner or self.learner
        return learner.tell(self.results(learner))


@pytest.fixture
def local():
    return lambda method="trpo", settings=None, **tree: Local(method, settings or {}, tree)


def same_bytes(one, other):
    values, arrays = one.state()
    other_values, other_arrays = other.state()
    assert values == other_values
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        assert np.asarray(array).tobytes() == np.asarray(other_arrays[name]).tobytes(), name
