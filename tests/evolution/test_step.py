"""Sums by workers are those of the driver, bit for bit."""

import numpy as np
import pytest

from bges.core.work import Work
from bges.evolution import step
from bges.evolution.noise import weighted_sum
from bges.evolution.perturbations import Perturbations
from bges.evolution.step import reduction

from .conftest import Local, small_config, thetas_of


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(step, "LARGE", 0)
    monkeypatch.setattr(step, "SLICE", 7)


@pytest.mark.parametrize("antithetic", [True, False])
def test_slices_summed_anywhere_in_any_order_are_the_whole(antithetic, rng):
    """More than two blocks of directions, some of them without weight."""
    made = Local(small_config({"es": {"population": 300, "antithetic": antithetic}}))
    directions = 150 if antithetic else 300
    weights = np.where(rng.random(directions) < 0.2, 0.0, rng.normal(size=directions))
    dimension = made.strategy.dimension
    work = reduction(3, weights, dimension)
    assert len(work.units) == -(-dimension // 7)
    played = [made.evaluator.play(work.context, work.units[i]) for i in rng.permutation(len(work.units))]
    found = np.concatenate([part.values for part in sorted(played, key=lambda part: part.unit.index)])
    drawn = Perturbations.of(made.evaluator.config, 3, dimension)
    assert found.tobytes() == weighted_sum(made.evaluator.table, drawn.directions, weights, dimension).tobytes()


@pytest.mark.parametrize("changes", [{}, {"es": {"top": 2}}, {"algorithm": "nsres"}, {"es": {"antithetic": False}}])
@pytest.mark.parametrize("help_comes", [True, False])
def test_a_run_with_help_has_the_bytes_of_one_without(changes, help_comes):
    """Where nothing comes of the work, the strategy does it alone."""
    alone, helped = Local(small_config(changes)), Local(small_config(changes))
    strategy, evaluator = helped.strategy, helped.evaluator
    strategy.delegates = True
    for _ in range(4):
        alone.step()
        work = helped.step()
        assert isinstance(work, Work)
        report = strategy.tell([evaluator.play(work.context, unit) for unit in reversed(work.units)] * help_comes)
        assert report.iteration == strategy.iteration - 1
    assert thetas_of(strategy) == thetas_of(alone.strategy)


def test_a_small_sum_is_not_worth_a_message(monkeypatch):
    monkeypatch.setattr(step, "LARGE", 101)
    assert reduction(0, np.ones(10), 10) is None
