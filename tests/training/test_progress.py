import io
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from bges.config.run import RunConfig
from bges.training.progress import ConsoleProgress


def said(quiet):
    file = io.StringIO()
    progress = ConsoleProgress(Console(file=file, width=200), quiet=quiet)
    strategy = SimpleNamespace(iteration=3, dimension=5, done=False)
    progress.begin(Path("run"), RunConfig(), strategy, ["checkpoint 000003 is damaged"])
    progress.update(
        {"iteration": 3, "score": 1, "best_score": 2, "beta": 0, "steps_per_second": 9, "workers": 1, "lost_chunks": 0}
    )
    progress.end()
    return file.getvalue()


def test_damage_is_told_even_when_nothing_else_is():
    assert said(quiet=True) == "checkpoint 000003 is damaged\n"
    assert "checkpoint 000003 is damaged\nbges on" in said(quiet=False)
    assert "iteration 4/200" in said(quiet=False)
