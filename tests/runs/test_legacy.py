"""Runs that version 0.1 made (`tests/runs/v01`): they can be evaluated, scored and drawn, but not be resumed."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from bges.config.loading import load_config
from bges.errors import InputError
from bges.report import write_report
from bges.runs.directory import Run
from bges.runs.evaluation import evaluate_policy
from bges.runs.scoring import run_functions

MADE = Path(__file__).parent / "v01"


@pytest.mark.parametrize(("name", "members"), [("bges", 1), ("nsres", 2), ("repulsion", 2)])
def test_policies_are_found_and_play(name, members):
    run = Run(MADE / name)
    checkpoint, _ = run.checkpoints.load_newest()
    assert checkpoint.policies == members
    arrays = checkpoint.state.arrays
    for which in ("best", "last"):
        found = evaluate_policy(run, episodes=2, seed=0, which=which)
        assert np.isfinite(found["return_mean"])
    for member in range(members):
        theta = run.policy("last", member=member).theta
        assert theta.tobytes() == arrays[f"member{member}/theta"].astype(np.float32).tobytes()


def test_tables_have_the_names_of_today():
    run = Run(MADE / "bges")
    assert {"return_mean", "return_max", "return_std"} <= set(run.metrics().column_names)
    assert "return" in run.behaviors().column_names


@pytest.mark.parametrize("name", ["bges", "repulsion"])
def test_test_functions_are_found(name):
    assert run_functions(Run(MADE / name)).potentials is not None


def test_a_report_is_drawn(tmp_path):
    page = write_report([MADE / "bges", MADE / "repulsion"], tmp_path / "report.html").read_text()
    assert 'id="functions"' in page
    assert "cannot be" not in page


def test_resuming_is_refused_and_leaves_the_run_as_it_was(tmp_path):
    from bges.core.problem import Problem
    from bges.training.local import run_alone

    path = Path(shutil.copytree(MADE / "bges", tmp_path / "run"))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    with pytest.raises(InputError, match=r"made by version 0\.1: it can be evaluated and reported, but not resumed"):
        run_alone(Problem.of(load_config(path / "config.yaml")), path, resume=True)
    after = {file: file.read_bytes() for file in path.rglob("*") if file.is_file() and file.name != ".lock"}
    assert after == before
