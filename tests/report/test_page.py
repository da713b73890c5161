"""What a report holds, whatever its runs hold: sections, figures, escaped values, and nothing from elsewhere."""

import base64
import html
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from bges.errors import InputError
from bges.report import write_report
from tests.report.conftest import ITERATIONS, make_run
from tests.report.reading import SECTIONS, read

EVIL = '<script>alert("x")</script>"\'><img src=x onerror=alert(1)>'


def report_of(tmp_path, *paths):
    return write_report(paths, tmp_path / "report.html", clip=False)


def test_a_comparison_has_every_section_filled(comparison):
    page = read(comparison)
    assert tuple(page.sections) == SECTIONS
    assert page.count("figure", "curves") >= 3
    assert page.count("figure", "map", "run") == page.count("figure", "trajectories", "run") == 5
    assert page.count("figure", "functions", "run") == 2
    assert page.count("figure", "novelty", "run") == 3
    assert page.count("image", "map") == 6, "two static pictures for each method"
    assert "BGES, seed 0" in page.sections["map"]
    assert "No chunk of work was lost" in page.sections["faults"]
    assert "Nothing: everything could be read" in page.sections["missing"]
    assert re.search(r"BGES2-?\d+.* ± .*\(.* to .*\)", page.sections["curves"])
    assert "algorithm" in page.sections["configuration"]


def test_the_clip_is_a_moving_picture(comparison):
    (source,) = re.findall(r'src="data:image/gif;base64,([^"]+)"', comparison.read_text())
    assert base64.b64decode(source).startswith(b"GIF89a")


def test_nothing_comes_from_elsewhere(comparison):
    text = comparison.read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}, "a name, never fetched"
    for tag, values, _ in read(comparison).elements:
        for name in ("src", "href"):
            assert values.get(name, "#").startswith(("#", "data:")), (tag, values)
        assert tag not in ("link", "iframe", "object", "base")
        assert not any(name.startswith("on") for name in values)
    assert "default-src 'none'" in html.unescape(text)


def test_it_is_made_for_light_and_dark_and_for_phones(comparison):
    text = comparison.read_text()
    assert "prefers-color-scheme:dark" in text
    assert 'name="viewport"' in text


def test_values_and_names_are_text_and_never_markup(runs, tmp_path, copy):
    path = copy("bges-0")
    tree = yaml.safe_load((path / "config.yaml").read_text())
    tree["env"]["kwargs"] = {EVIL: EVIL}
    tree["seed"] = EVIL
    tree["algorithm"] = EVIL
    (path / "config.yaml").write_text(yaml.safe_dump(tree))
    named = path.rename(tmp_path / "<img src=x onerror=alert(2)> & <b>")
    out = report_of(tmp_path, named, runs["es-0"])
    page, text = read(out), out.read_text()
    assert "<img" not in text
    assert not any("onerror" in values for _, values, _ in page.elements)
    run_by_browsers = [values for tag, values, _ in page.elements if tag == "script" and "type" not in values]
    assert len(run_by_browsers) == 1
    assert page.count("b") == 0
    assert 'alert("x")' in page.sections["configuration"], "it is there to be read"


@pytest.mark.parametrize(
    ("name", "figures", "words"),
    [
        ("plane", 1, "x [m]"),
        ("line", 1, "behaviour"),
        ("many", 1, "principal components of 12 dimensions"),
        ("divergence", 0, "None of these runs holds fitted test functions"),
        ("es-0", 0, "None of these runs holds fitted test functions"),
    ],
)
def test_test_functions_are_drawn_in_any_dimension(runs, tmp_path, name, figures, words):
    page = read(report_of(tmp_path, runs[name]))
    assert page.count("figure", "functions", "run") == figures
    assert words in page.sections["functions"]
    assert "could not be made" not in "".join(page.sections.values())
    assert page.count("figure", "map", "run") == 1


def test_sections_without_material_say_so(runs, tmp_path):
    page = read(report_of(tmp_path, runs["line"]))
    assert "need a checkpoint and a task with a position in the plane" in page.sections["trajectories"]
    page = read(report_of(tmp_path, runs["es-0"]))
    assert "None of these runs has a novelty term" in page.sections["novelty"]


def foreign_run(path):
    """A run of an algorithm that this version cannot play, with columns of its own."""
    path.mkdir()
    tree = {"algorithm": "bgpg", "seed": 3, "env": {"id": "Other-v0"}, "gradient": {"step": 0.1}}
    (path / "config.yaml").write_text(yaml.safe_dump(tree))
    n = 20
    columns = {"iteration": range(n), "env_steps": range(0, 100 * n, 100), "score": np.linspace(0, 1, n)}
    pq.write_table(pa.table(columns | {"value_loss": np.linspace(2, 0, n)}), path / "metrics.parquet")
    return path


def test_other_algorithms_are_reported_from_what_they_recorded(runs, tmp_path):
    page = read(report_of(tmp_path, foreign_run(tmp_path / "other"), runs["bges-0"]))
    assert "value_loss" in page.sections["curves"]
    assert "gradient.step" in page.sections["configuration"]
    assert "BGPG" in page.sections["configuration"]
    assert page.count("figure", "map", "run") == 1
    assert "could not be made" not in "".join(page.sections.values())
    alone = read(report_of(tmp_path, tmp_path / "other"))
    assert "No behaviours were recorded" in alone.sections["map"]
    assert "No times were recorded" in alone.sections["time"]
    assert "Lost work was not recorded" in alone.sections["faults"]


def damage_metrics(path):
    (path / "metrics.parquet").write_bytes(b"not a table")


def remove_metrics(path):
    (path / "metrics.parquet").unlink()


def damage_behaviors(path):
    sorted((path / "behaviors").iterdir())[0].write_bytes(b"PAR1 half")


def damage_checkpoint(path):
    (path / "checkpoints" / f"{ITERATIONS:06d}" / "arrays.npz").write_bytes(b"half")


def remove_checkpoints(path):
    for file in sorted((path / "checkpoints").rglob("*"), reverse=True):
        file.unlink() if file.is_symlink() or file.is_file() else file.rmdir()


def damage_config(path):
    (path / "config.yaml").write_text("{ not yaml")


def remove_config(path):
    (path / "config.yaml").unlink()


def name_a_missing_module(path):
    text = (path / "config.yaml").read_text()
    (path / "config.yaml").write_text(text.replace("bges_envs:DeceptivePoint-v0", "no_such_module:Env"))


DAMAGES = {
    damage_metrics: "metrics.parquet cannot be read",
    remove_metrics: "it has no metrics yet",
    damage_behaviors: "behaviors/000000-000003.parquet: ",
    damage_checkpoint: "arrays.npz is damaged",
    remove_checkpoints: "it has no checkpoint yet",
    damage_config: "config.yaml is not YAML",
    remove_config: "it has no config.yaml",
    name_a_missing_module: "there is no module 'no_such_module'",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_run_gives_a_report_that_says_what_is_missing(copy, tmp_path, damage):
    path = copy("bges-0")
    damage(path)
    page = read(report_of(tmp_path, path))
    assert tuple(page.sections) == SECTIONS
    assert DAMAGES[damage] in page.sections["missing"]
    assert "could not be made" not in "".join(page.sections.values())


def test_numbers_that_are_none_are_left_out(copy, tmp_path):
    path = copy("bges-0")
    table = pq.read_table(path / "metrics.parquet")
    for name, value in (("score", np.inf), ("return_mean", np.nan), ("novelty_mean", -np.inf), ("beta", None)):
        column = pa.array([value] * len(table), pa.float64())
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, path / "metrics.parquet")
    for file in (path / "behaviors").iterdir():
        seen = pq.read_table(file)
        place = seen.column_names.index("return")
        pq.write_table(seen.set_column(place, "return", pa.array([np.inf] * len(seen))), file)
    page = read(report_of(tmp_path, path))
    assert "could not be made" not in "".join(page.sections.values())
    assert page.count("figure", "map", "run") == 1


def test_a_table_without_rows_is_a_run_that_has_just_begun(copy, tmp_path):
    path = copy("bges-0")
    pq.write_table(pq.read_table(path / "metrics.parquet").slice(0, 0), path / "metrics.parquet")
    page = read(report_of(tmp_path, path))
    assert "could not be made" not in "".join(page.sections.values())
    assert "No score has been recorded yet" in page.sections["curves"]


def test_an_empty_directory_is_not_a_run(tmp_path):
    with pytest.raises(InputError, match="is not a run directory"):
        report_of(tmp_path, tmp_path)


def test_faults_are_counted(copy, tmp_path):
    path = copy("bges-0")
    table = pq.read_table(path / "metrics.parquet")
    place = table.column_names.index("lost_chunks")
    lost = pa.array([2 if i == 5 else 0 for i in range(len(table))])
    pq.write_table(table.set_column(place, "lost_chunks", lost), path / "metrics.parquet")
    page = read(report_of(tmp_path, path))
    assert "BGES, seed 025" in page.sections["faults"], "seed 0, 2 chunks, in iteration 5"


def test_a_long_comparison_is_small(tmp_path_factory):
    """Five seeds of 200 iterations: the size is bounded by what is shown, not by what there is."""
    folder = tmp_path_factory.mktemp("long")
    changes = {"iterations": 200, "env": {"horizon": 5}, "checkpoint": {"every": 20, "keep_every": 20}}
    paths = [make_run(folder / str(seed), {**changes, "seed": seed}) for seed in range(5)]
    out = report_of(folder, *paths)
    assert out.stat().st_size < 5 * 2**20
