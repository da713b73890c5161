"""Experiments really played, on a real local Ray."""

import csv
import shutil

import numpy as np
import pytest

from bges.bench.bench import run_bench
from bges.bench.experiment import Experiment, experiment_names, load_experiment
from bges.bench.runner import first_success
from bges.config.loading import load_config
from bges.errors import RunError
from bges.runs.directory import Run

pytestmark = pytest.mark.usefixtures("local_ray")

SMALL = {
    "title": "a test",
    "claim": "The paper claims something.",
    "base": "point",
    "seeds": 2,
    "set": {"iterations": 4, "es.population": 8, "es.chunk": 8, "es.noise_table": 20_000, "env.horizon": 8},
    "methods": {"BGES": {}, "ES": {"algorithm": "es"}},
    "axes": {"env.kwargs.trap_half_width": [2.0, 3.0]},
    "picture": "surface",
}


def play(name, experiment, tmp_path):
    command = f"bges bench {name}"
    return run_bench(name, experiment, runs=tmp_path / "runs", out=tmp_path / "out", command=command, workers=2)


def bench(tmp_path, tree=None):
    return play("mine", Experiment.model_validate({**SMALL, **(tree or {})}), tmp_path)


def test_an_experiment_leaves_a_table_curves_a_summary_and_a_picture(tmp_path):
    results = bench(tmp_path)
    assert len(results.rows) == 8
    with (tmp_path / "out" / "mine.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["env.kwargs.trap_half_width"], r["method"], r["seed"]) for r in rows[:3]] == [
        ("2.0", "BGES", "0"),
        ("2.0", "BGES", "1"),
        ("2.0", "ES", "0"),
    ]
    assert all(int(row["env_steps"]) == 4 * 8 * (8 + 4) for row in rows)
    assert rows[0]["made_by"] == "bges bench mine"
    assert f"numpy {np.__version__}" in rows[0]["versions"]
    text = (tmp_path / "out" / "mine.md").read_text()
    assert "The paper claims something." in text
    assert "| 3.0 | ES | 2 | 0 of 2" in text
    assert text.count("p against BGES") == 1
    assert text.count(" | settled 1, score ") == 2
    assert "missing" not in text
    assert (tmp_path / "out" / "mine.png").stat().st_size > 5000
    assert (tmp_path / "out" / "mine-curves.csv").read_text().count("\n") == 1 + 8 * 4


def test_finished_runs_are_not_repeated_and_a_stopped_one_goes_on(tmp_path):
    tree = {"set": {**SMALL["set"], "checkpoint.every": 2}}
    first = bench(tmp_path, tree)
    made = sorted((tmp_path / "runs").iterdir())
    stamps = [(path / "metrics.parquet").stat().st_mtime_ns for path in made]
    # What a killed process leaves: its last checkpoint lies some iterations back.
    shutil.rmtree(made[0] / "checkpoints" / "000004")
    shutil.rmtree(tmp_path / "out")
    again = bench(tmp_path, tree)
    repeated = [
        (path / "metrics.parquet").stat().st_mtime_ns != stamp for path, stamp in zip(made, stamps, strict=True)
    ]
    assert repeated == [True] + [False] * 7
    assert Run(made[0]).checkpoints.iterations()[-1] == 4
    for key, row in first.rows.items():
        assert timeless(again.rows[key]) == timeless(row)


def timeless(row):
    curve = {name: values for name, values in row["curve"].items() if name != "wall_time"}
    return {name: value for name, value in row.items() if name != "seconds"} | {"curve": curve}


def test_runs_whose_rows_are_there_are_not_played_again(tmp_path):
    """Results can be carried on by another machine, which has none of the run directories."""
    bench(tmp_path, {"seeds": 1})
    shutil.rmtree(tmp_path / "runs")
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.suffix != ".png"}
    bench(tmp_path, {"seeds": 1})
    assert not (tmp_path / "runs").exists()
    assert {name: (tmp_path / "out" / name).read_bytes() for name in files} == files
    renamed = {"seeds": 1, "methods": {"Evolution": {"algorithm": "es"}, "NSR-ES": {"algorithm": "nsres"}}}
    other = play("other", Experiment.model_validate({**SMALL, **renamed}), tmp_path)
    assert len(list((tmp_path / "runs").iterdir())) == 2
    assert len(other.rows) == 4
    assert all(len(row["curve"]["score"]) == 4 for row in other.rows.values())


def test_rows_written_before_a_verdict_had_a_name_are_counted(tmp_path):
    """Their shares say it: 0.9 of the episodes past the wall is past, less is not."""
    tree = {"seeds": 2, "methods": {"ES": {"algorithm": "es"}}, "axes": {}, "picture": "strip", "counted": ["past"]}
    bench(tmp_path, tree)
    table = tmp_path / "out" / "mine.csv"
    with table.open() as file:
        rows = list(csv.DictReader(file))
    for row, share in zip(rows, ("0.9", "0.899"), strict=True):
        del row["past"]
        row["past_wall_last_tenth"] = share
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    results = bench(tmp_path, tree)
    assert [row["past"] for row in results.rows.values()] == [1, 0]
    assert "past (95 %)" in (tmp_path / "out" / "mine.md").read_text()
    assert "| ES | 2 | 1 of 2" in (tmp_path / "out" / "mine.md").read_text()


def test_a_run_that_fails_does_not_stop_the_others(tmp_path):
    methods = {"ES": {"algorithm": "es"}, "broken": {"env.id": "tests.bench.broken:Broken"}}
    broken = {"methods": methods, "axes": {}, "picture": "strip"}
    with pytest.raises(RunError, match="2 of 4 runs failed") as caught:
        bench(tmp_path, broken)
    assert "the user's own mistake" in str(caught.value)
    assert "2 runs are missing" in (tmp_path / "out" / "mine.md").read_text()


@pytest.mark.parametrize("name", experiment_names())
def test_the_quick_version_of_every_experiment_runs(name, tmp_path):
    experiment = load_experiment(name).shrunk()
    results = play(name, experiment, tmp_path)
    assert len(results.rows) == len(experiment.jobs(tmp_path))
    assert (tmp_path / "out" / f"{name}.png").stat().st_size > 5000


def test_the_first_success_is_counted_in_episodes_to_the_end_of_its_iteration():
    class Run:
        config = load_config("point", {"es.population": 10, "evaluation.episodes": 4})

    rates = {"population_success": [0.0, 0.1, 0.0, 0.9], "success_rate": [0.0, 0.0, float("nan"), 1.0]}
    assert first_success(Run, rates) == {"first_success": 2 * 14}
    assert first_success(Run, {"success_rate": [None, 0.0, 0.5]}) == {"first_success": 3 * 14}
    assert first_success(Run, {"success_rate": [0.0, float("nan")]}) == {}
    assert first_success(Run, {}) == {}
