"""Progress of a run: two live lines on a terminal, plain lines elsewhere."""

import math
import time
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from bges.config.run import RunConfig
from bges.core.learner import Learner


class ConsoleProgress:
    """Iteration, score, best, steps per second, time left, workers and lost chunks; `quiet` prints only problems."""

    def __init__(self, console: Console, seconds_between_lines: float = 5.0, *, quiet: bool = False) -> None:
        self._console, self._pause, self._quiet = console, seconds_between_lines, quiet
        self._live: Live | None = None
        self._printed = -math.inf
        self._started: tuple[float, int] | None = None
        self._lost = 0
        self._score = math.nan

    def begin(self, path: Path, config: RunConfig, learner: Learner, notes: list[str]) -> None:
        for note in notes:
            self._console.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
        if self._quiet:
            return
        self._total = config.iterations
        start = f", resumed at iteration {learner.iteration}" if learner.iteration else ""
        self._say(
            f"{config.algorithm} on {config.env.id}, seed {config.seed}, {learner.dimension} parameters, "
            f"run directory {path}{start}"
        )
        if learner.done:
            return
        if not self._console.is_terminal:
            self._say("starting workers")
            return
        self._bar = Progress(
            TextColumn("iteration"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self._task = self._bar.add_task("", total=self._total, completed=learner.iteration)
        self._facts = Text("starting workers")
        self._live = Live(Group(self._bar, self._facts), console=self._console, refresh_per_second=8)
        self._live.start()

    def update(self, row: dict[str, Any]) -> None:
        if self._quiet:
            return
        now, done = time.monotonic(), int(row["iteration"]) + 1
        # The first iteration waits for the workers to start, and says nothing of the others' pace.
        self._started = self._started or (now, done)
        each = (now - self._started[0]) / max(done - self._started[1], 1)
        left = f"{each * (self._total - done):.0f} s left" if each else ""
        self._lost += int(row["lost_chunks"])
        self._score = row["score"] if math.isfinite(row["score"]) else self._score
        facts = (
            f"score {self._score:.1f}  best {row['best_score']:.1f}  beta {row['beta']:.2f}  "
            f"{row['steps_per_second']:,.0f} steps/s  {row['workers']} workers  {self._lost} lost"
        )
        if self._live is not None:
            self._bar.update(self._task, completed=done, description=left)
            self._facts.plain = facts
        elif now - self._printed > self._pause or done == self._total:
            self._printed = now
            self._say(f"iteration {done}/{self._total}  {facts}  {left}".rstrip())

    def say(self, text: str) -> None:
        self._say(text)

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
