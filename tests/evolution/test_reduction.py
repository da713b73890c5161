"""Sums by workers are those of the driver, bit for bit."""

import numpy as np
import pytest

from bges.errors import Interrupted, RunError
from bges.evolution import reduction
from bges.evolution.evaluator import draw_perturbations
from bges.evolution.noise import weighted_sum
from bges.evolution.reduction import sum_by_workers

from .conftest import Local, small_config, thetas_of


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(reduction, "LARGE", 0)
    monkeypatch.setattr(reduction, "SLICE", 7)


@pytest.mark.parametrize("antithetic", [True, False])
def test_slices_summed_anywhere_in_any_order_are_the_whole(antithetic, rng):
    """More than two blocks of directions, some of them without weight."""
    made = Local(small_config({"es": {"population": 300, "antithetic": antithetic}}))
    directions = 150 if antithetic else 300
    weights = np.where(rng.random(directions) < 0.2, 0.0, rng.normal(size=directions))
    asked = []

    def play(units, context):
        asked.extend(units)
        return [made.evaluator.evaluate(context, units[i]) for i in rng.permutation(len(units))]

    dimension = made.strategy.dimension
    found = sum_by_workers(play, 3, weights, dimension)
    drawn = draw_perturbations(made.evaluator.config, 3, dimension)
    assert len(asked) == -(-dimension // 7)
    assert found.tobytes() == weighted_sum(made.evaluator.table, drawn.directions, weights, dimension).tobytes()


@pytest.mark.parametrize("changes", [{}, {"es": {"top": 2}}, {"algorithm": "nsres"}, {"es": {"antithetic": False}}])
def test_a_run_with_help_has_the_bytes_of_one_without(changes):
    alone, helped = Local(small_config(changes)), Local(small_config(changes))
    asked = []

    def play(units, context):
        asked.extend(units)
        return [helped.evaluator.evaluate(context, unit) for unit in reversed(units)]

    helped.strategy.use(play)
    for _ in range(4):
        alone.step()
        helped.step()
    assert asked
    assert thetas_of(helped.strategy) == thetas_of(alone.strategy)


@pytest.mark.parametrize("failure", [Interrupted("stop"), RunError("gone")])
def test_workers_that_fail_leave_the_sum_to_the_driver(failure):
    alone, helped = Local(small_config()), Local(small_config())

    def play(units, context):
        raise failure

    helped.strategy.use(play)
    alone.step()
    helped.step()
    assert thetas_of(helped.strategy) == thetas_of(alone.strategy)


def test_a_small_sum_is_not_worth_a_message(monkeypatch):
    monkeypatch.setattr(reduction, "LARGE", 101)
    assert sum_by_workers(lambda units, context: [], 0, np.ones(10), 10) is None
