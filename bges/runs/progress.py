"""How a run goes, for people: a live line on a terminal, plain lines elsewhere."""

import math
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bges.evolution.strategy import Strategy
from bges.runs.config import RunConfig


class ConsoleProgress:
    """Iteration, score, best, steps per second, time left, workers and lost chunks."""

    def __init__(self, console: Console, seconds_between_lines: float = 5.0) -> None:
        self._console, self._pause = console, seconds_between_lines
        self._bar: Progress | None = None
        self._printed = -math.inf
        self._lost = 0

    def begin(self, path: Path, config: RunConfig, strategy: Strategy, notes: list[str]) -> None:
        for note in notes:
            self._console.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
        self._total, self._first, self._begun = config.iterations, strategy.iteration, time.monotonic()
        start = f", resumed at iteration {strategy.iteration}" if strategy.iteration else ""
        self._console.print(
            f"{config.algorithm} on {config.env.id}, seed {config.seed}, {strategy.dimension} parameters, "
            f"run directory {path}{start}",
            highlight=False,
            soft_wrap=True,
        )
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("iteration"),
                MofNCompleteColumn(),
                BarColumn(bar_width=20),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(elapsed_when_finished=False),
                console=self._console,
            )
            self._bar.start()
            self._task = self._bar.add_task("starting workers", total=self._total, completed=strategy.iteration)

    def update(self, row: dict[str, Any]) -> None:
        self._lost += int(row["lost_chunks"])
        done = int(row["iteration"]) + 1
        facts = (
            f"score {row['score']:.1f}  best {row['best_score']:.1f}  beta {row['beta']:.2f}  "
            f"{row['steps_per_second']:,.0f} steps/s  {row['workers']} workers  {self._lost} lost"
        )
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=facts)
        elif time.monotonic() - self._printed > self._pause or done == self._total:
            self._printed = time.monotonic()
            each = (self._printed - self._begun) / max(done - self._first, 1)
            left = each * (self._total - done)
            self._console.print(
                f"iteration {done}/{self._total}  {facts}  {left:.0f} s left", highlight=False, soft_wrap=True
            )

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
