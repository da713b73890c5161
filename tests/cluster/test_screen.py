from bges.cluster.screen import run_facts
from bges.core.problem import Problem
from bges.runs.directory import Run
from bges.training.local import run_alone
from tests.evolution.conftest import small_config


def test_a_run_may_go_on_while_its_metrics_are_read(tmp_path, monkeypatch):
    run = run_alone(Problem.of(small_config({"iterations": 3})), tmp_path / "run")
    finished, lengths = run.metrics(), iter((1, 2, 3))
    monkeypatch.setattr(Run, "metrics", lambda self: finished.slice(0, next(lengths)))
    assert run_facts(run.path).startswith("iteration 1/3  score ")


def test_a_run_that_has_finished_nothing_has_no_facts(tmp_path):
    assert run_facts(tmp_path) == ""
