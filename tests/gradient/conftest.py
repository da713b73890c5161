import json
from dataclasses import replace

import numpy as np
import pytest

from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.gradient.players import Sampler

STEPS = {"batch": 80, "num_envs": 4, "chunk": 3, "value_hidden": [8], "value_epochs": 2, "value_minibatch": 16}
ASCENT = STEPS | {"updates": 4, "minibatch": 16}
# By method, since each refuses the keys of the others.
SMALL = {
    "pg": ASCENT,
    "bgpg": ASCENT | {"features": 10, "actions": 4, "sinkhorn_steps": 5},
    "particles": ASCENT | {"particles": 4, "sinkhorn_steps": 5},
    "trpo": STEPS,
    "noisynet_trpo": STEPS,
}
AIM = {"id": "tests.gradient.toys:Aim", "horizon": 5}


class Local:
    """A learner and someone who samples for it, in this process."""

    def __init__(self, method, settings, tree):
        base = {"env": AIM, "policy": {"hidden": [8], "normalize_observations": True}}
        self.config = RunConfig.parse(base | {"algorithm": method, "pg": SMALL[method] | settings} | tree)
        self.sampler = Sampler(Problem.of(self.config))
        self.learner = self.fresh()

    def fresh(self):
        from bges.gradient.learner import PolicyGradient

        return PolicyGradient(self.config, self.sampler.policy, self.sampler.initial_theta())

    def results(self, learner=None):
        learner = learner or self.learner
        context = learner.context
        return [self.sampler.play(context, unit) for unit in learner.ask()]

    def step(self, learner=None):
        learner = learner or self.learner
        return learner.tell(self.results(learner))


@pytest.fixture
def local():
    return lambda method="trpo", settings=None, **tree: Local(method, settings or {}, tree)


def same_bytes(one, other):
    state, expected = one.state(), other.state()
    assert (state.values, state.policies, state.functions) == (expected.values, expected.policies, expected.functions)
    assert state.arrays.keys() == expected.arrays.keys()
    for name, array in state.arrays.items():
        assert np.asarray(array).tobytes() == np.asarray(expected.arrays[name]).tobytes(), name


def stored(state):
    """A state as it comes back from a file."""
    arrays = {name: np.array(array) for name, array in state.arrays.items()}
    return replace(state, values=json.loads(json.dumps(state.values)), arrays=arrays)
