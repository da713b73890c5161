import numpy as np
import pytest

from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.gradient.sampler import Sampler

SMALL = {"batch": 80, "slots": 4, "chunk": 3, "value_hidden": [8], "value_epochs": 2, "value_minibatch": 16}
SMALL |= {"updates": 4, "minibatch": 16, "features": 10, "actions": 4, "particles": 4, "sinkhorn_steps": 5}
AIM = {"id": "tests.gradient.toys:Aim", "horizon": 5}


class Local:
    """A learner and someone who samples for it, in this process."""

    def __init__(self, method, settings, tree):
        base = {"env": AIM, "policy": {"hidden": [8], "normalize_observations": True}}
        self.config = RunConfig.parse(base | {"algorithm": method, "pg": SMALL | settings} | tree)
        self.sampler = Sampler(Problem.of(self.config))
        self.learner = self.fresh()

    def fresh(self):
        from bges.gradient.learner import PolicyGradient

        return PolicyGradient(self.config, self.sampler.policy, self.sampler.initial_theta())

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
