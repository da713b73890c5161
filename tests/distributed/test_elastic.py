"""Runs that wait for workers, and workers that help with an update."""

import pytest

from bges.config.common import FaultsConfig
from bges.config.run import RunConfig
from bges.distributed.trainer import run_training
from bges.errors import InputError
from bges.evolution import step

from .conftest import state_of, tree, whole
from .test_cluster import CONTEXT, UNITS, indices, make_pool


def test_a_run_waits_for_enough_workers_and_says_so(local_ray):
    """One of two never starts; a third one comes later than the time in which one has to."""
    said = []

    def say(text):
        said.append(text)
        if len(said) == 1:
            pool.resize(3)

    pool = make_pool([{}, {"starts": False}], say=say, min_workers=2, start_seconds=0.001)
    try:
        assert indices(pool.run(UNITS, CONTEXT)) == list(range(6))
    finally:
        pool.close()
    assert said == ["waiting for workers: 0 ready, faults.min_workers is 2", "continuing with 2 workers"]


def test_workers_below_the_least_are_refused():
    with pytest.raises(InputError, match=r"workers is 2, below faults\.min_workers, 3"):
        RunConfig.parse({"workers": 2, "faults": {"min_workers": 3}})


def test_how_a_run_is_carried_out_does_not_change_its_name():
    assert FaultsConfig().min_workers == 0
    assert RunConfig.parse({"faults": {"min_workers": 3}}).hash() == RunConfig().hash()


def test_sums_by_real_workers_have_the_bytes_of_the_drivers(tmp_path, monkeypatch, local_ray):
    monkeypatch.setattr(step, "LARGE", 0)
    monkeypatch.setattr(step, "SLICE", 5)
    run = run_training(RunConfig.parse(tree({"workers": 2})), tmp_path)
    assert state_of(run) == whole()
