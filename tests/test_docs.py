"""What the documentation promises: generated pages are current, links lead somewhere, examples run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bges.runs.directory import Run
from tests.test_cli import BGES, SECONDS

ROOT = Path(__file__).parent.parent
# As they are read: what the quick start trains is there for the pages after it.
FIRST = [ROOT / "README.md", ROOT / "docs" / "quickstart.md"]
PAGES = [*FIRST, *sorted(set((ROOT / "docs").glob("*.md")) - set(FIRST))]


def test_the_pages_of_reference_are_what_the_code_says():
    done = subprocess.run(
        [sys.executable, "docs/make_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(), flags=re.MULTILINE)
            anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors, target


def test_the_example_draws_the_deceptive_point(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/deceptive_point.py"), "point.png"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "point.png").stat().st_size > 10_000
    assert re.search(r"straight .* past the wall: False", done.stdout)
    assert re.search(r"detour .* goal: True", done.stdout)


def test_the_example_of_an_own_environment_trains_away_from_the_repository(tmp_path):
    folder = shutil.copytree(ROOT / "examples" / "own_environment", tmp_path / "away")
    # The first who imports the module takes it away: the workers can have it from the driver only.
    with (folder / "valley.py").open("a") as file:
        file.write("\n__import__('os').remove(__file__)\n")
    command = [BGES, "train", "valley.yaml", "--workers", "2", "--iterations", "4", "--no-progress", "--out", "run"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert not (folder / "valley.py").exists()
    run = Run(folder / "run")
    assert run.metrics()["lost_chunks"].to_pylist() == [0] * 4
    assert run.metrics()["population_success"].null_count == 0
    assert run.behaviors().schema.field("embedding").type.list_size == 1
