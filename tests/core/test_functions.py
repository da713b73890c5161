import numpy as np
import pytest

from bges.config.run import RunConfig
from bges.core.functions import make_test_functions


def fitted(rng, solver, n, gamma):
    config = RunConfig.parse({"novelty": {"solver": solver, "gamma": gamma, "features": 1000}})
    x, y = rng.normal(size=(n, 2)), np.array([1.0, 0.0]) + rng.normal(size=(n, 2))
    return make_test_functions(config, dim=2).fit(x, y, config.novelty.updates)


def test_adam_takes_its_own_number_of_steps_and_comes_close(rng):
    """The hundred of Algorithm 1 leave a tenth and more."""
    state = rng.bit_generator.state
    exact = fitted(rng, "sinkhorn", 200, 0.1)
    rng.bit_generator.state = state
    result = fitted(rng, "adam", 200, 0.1)
    assert exact.converged
    assert result.steps == 300
    assert result.value == pytest.approx(exact.value, rel=0.02)


@pytest.mark.parametrize("gamma", [1.0, 0.1])
def test_sinkhorn_takes_the_steps_it_needs_for_large_clouds(gamma, rng):
    result = fitted(rng, "sinkhorn", 2000, gamma)
    assert result.converged
    assert result.steps < 5000


def test_given_updates_that_do_not_suffice_are_told(rng):
    config = RunConfig.parse({"novelty": {"solver": "sinkhorn", "gamma": 0.1, "updates": 100}})
    x, y = rng.normal(size=(2000, 2)), 1.0 + rng.normal(size=(2000, 2))
    result = make_test_functions(config, dim=2).fit(x, y, config.novelty.updates)
    assert result.steps == 100
    assert not result.converged
