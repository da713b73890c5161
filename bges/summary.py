"""The summary that `bges train` prints at the end."""

import math
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bges.report import run_picture, write_report
from bges.runs.directory import Run

# A clip takes some seconds: no more than a run that took minutes can spare.
CLIP_AFTER_SECONDS = 120.0


def print_summary(console: Console, run: Run) -> None:
    rows = run.metrics().to_pylist() if (run.path / "metrics.parquet").exists() else []
    if not rows:
        # A finished run whose table was damaged.
        console.print(f"run          {run.path}", highlight=False, soft_wrap=True)
        return
    scores = [row["score"] for row in rows if row["score"] is not None and math.isfinite(row["score"])]
    tail = scores[-max(len(scores) // 10, 1) :]
    successes = [row["success_rate"] for row in rows[-len(tail) :] if row["success_rate"] is not None]
    lost = sum(row["lost_chunks"] for row in rows)
    last = rows[-1]
    lines = [
        f"score        {sum(tail) / len(tail):.1f} (mean of the last {len(tail)} evaluations), best {max(scores):.1f}",
        f"steps        {last['env_steps']:,} in {last['wall_time']:.1f} s, {lost} chunks lost",
        f"run          {run.path}",
        f"metrics      {run.path / 'metrics.parquet'}",
        f"checkpoints  {run.path / 'checkpoints'}",
        f"evaluate     bges eval {run.path}",
    ]
    if successes and all(math.isfinite(value) for value in successes):
        lines.insert(
            1, f"success      {100 * sum(successes) / len(successes):.0f} % of the episodes of those evaluations"
        )
    clip = last["wall_time"] > CLIP_AFTER_SECONDS
    lines.append(_drawn("picture", run.path / "picture.png", lambda path: run_picture(run, path)))
    lines.append(_drawn("report", run.path / "report.html", lambda path: write_report([run.path], path, clip=clip)))
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _drawn(what: str, path: Path, draw: Callable[[Path], object]) -> str:
    """A run is not lost because it cannot be drawn, whatever a user's own modules raise."""
    try:
        draw(path)
    except Exception as error:
        return f"{what:13}none: {' '.join(str(error).split()) or type(error).__name__}"
    return f"{what:13}{path}"
