import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bges
from bges.behavior import TestFunctions
from bges.config.loading import load_config
from bges.core.problem import Problem
from bges.errors import InputError
from bges.report import run_picture, write_report
from bges.runs.scoring import score_table
from bges.training.local import run_alone
from tests.gradient.test_repulsion import SMALL


def test_scores_are_between_any_two_policies(tmp_path, rng):
    config = load_config("repulsion", SMALL | {"repulsion.policies": 3, "iterations": 3})
    run = run_alone(Problem.of(config), tmp_path / "run")
    points = rng.normal(size=(5, 1))
    pq.write_table(pa.table({"embedding": points.tolist()}), tmp_path / "points.parquet")
    checkpoint, _ = run.checkpoints.load_newest()
    scores = {}
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        functions = TestFunctions.from_state(checkpoint.functions()[f"{i}-{j}"])
        scores[i, j] = score_table(run, tmp_path / "points.parquet", (i, j))["lambda_mu"].to_numpy()
        np.testing.assert_allclose(scores[i, j], functions.score_mu(points))
    assert not np.allclose(scores[0, 1], scores[0, 2])
    np.testing.assert_array_equal(score_table(run, tmp_path / "points.parquet")["lambda_mu"], scores[0, 1])
    with pytest.raises(InputError, match="no test functions between 1 and 0; has: 0-1, 0-2, 1-2"):
        score_table(run, tmp_path / "points.parquet", (1, 0))


def test_a_run_is_resumed_evaluated_and_drawn(tmp_path):
    settings = SMALL | {"checkpoint.every": 2, "checkpoint.keep_every": 2, "evaluation.every": 1}
    # A run that comes to rest counts its iterations, and cannot be made longer.
    settings |= {"repulsion.settle_at": 1.0}
    for path, lengths in ((tmp_path / "whole", [4]), (tmp_path / "parts", [2, 4])):
        for again, iterations in enumerate(lengths):
            config = load_config("repulsion", settings | {"iterations": iterations})
            run = run_alone(Problem.of(config), path, resume=again > 0)
    thetas = [
        bges.load_policy(tmp_path / name, which, member=member).theta.tobytes()
        for name in ("whole", "parts")
        for which in ("best", "last")
        for member in (0, 1)
    ]
    assert thetas[:4] == thetas[4:]
    assert len(set(thetas)) == 4
    with pytest.raises(InputError, match="member is 2, expected 0 to 1"):
        run.policy("last", member=2)
    run_picture(run, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    page = write_report([run.path], tmp_path / "report.html", clip=False).read_text()
    assert 'class="frames"' in page
    assert "after 4 iterations" in page
    assert "could not be made" not in page
