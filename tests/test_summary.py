"""What is said at the end of a run, even where it cannot be drawn."""

import io

from rich.console import Console

import bges.summary
from bges.runs.directory import Run
from bges.summary import print_summary
from tests.report.conftest import make_run


def said(run):
    file = io.StringIO()
    print_summary(Console(file=file, width=200), run)
    return file.getvalue()


def test_it_ends_with_the_picture_and_the_report(tmp_path):
    run = Run(make_run(tmp_path / "run", {"iterations": 3}))
    lines = said(run).splitlines()
    assert lines[-2:] == [f"picture      {run.path / 'picture.png'}", f"report       {run.path / 'report.html'}"]
    assert "There is no clip in this report" in (run.path / "report.html").read_text()


def test_a_report_that_fails_does_not_fail_the_run(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("my own\nmistake")

    monkeypatch.setattr(bges.summary, "write_report", fail)
    run = Run(make_run(tmp_path / "run", {"iterations": 2}))
    assert said(run).endswith("report       none: my own mistake\n")
