"""The files of an experiment: a row for each run, the curves, a table of all methods, a picture."""

import csv
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bges.bench.experiment import Cell, Experiment, Job
from bges.bench.pictures import draw
from bges.bench.statistics import bootstrap_iqm, wilson
from bges.runs.files import write_text

Row = dict[str, Any]
Curve = dict[str, list[float]]
CURVES = "-curves.csv"


class Results:
    """What is known of an experiment's runs so far."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.rows: dict[tuple[str, str, int], Row] = {}

    def add(self, job: Job, row: Row) -> None:
        self.rows[(_cell_name(job.cell), job.method, job.seed)] = {"run": job.path.name, **row}

    def of(self, cell: Cell, method: str) -> dict[int, Row]:
        """Rows by seed."""
        found = {seed: self.rows.get((_cell_name(cell), method, seed)) for seed in self.experiment.all_seeds}
        return {seed: row for seed, row in found.items() if row is not None}

    def write(self, name: str, folder: Path, *, command: str) -> list[Path]:
        """NAME.csv, NAME-curves.csv, NAME.md and NAME.png."""
        folder.mkdir(parents=True, exist_ok=True)
        table, curves, summary = (folder / f"{name}{end}" for end in (".csv", CURVES, ".md"))
        _write_csv(table, [{**row, "made_by": command} for row in self._flat()])
        _write_csv(curves, self._curves())
        write_text(summary, self.summary(command))
        picture = folder / f"{name}.png"
        draw(self.experiment, self.of, picture)
        return [table, curves, summary, picture]

    def _flat(self) -> list[Row]:
        rows = []
        for cell in self.experiment.cells():
            for method in self.experiment.methods:
                for seed, row in self.of(cell, method).items():
                    known = {key: value for key, value in row.items() if key != "curve"}
                    rows.append({**cell, "method": method, "seed": seed, **known})
        return rows

    def _curves(self) -> list[Row]:
        rows = []
        for cell in self.experiment.cells():
            for method in self.experiment.methods:
                for seed, row in self.of(cell, method).items():
                    points = zip(row["curve"]["env_steps"], row["curve"]["score"], strict=True)
                    place = {**cell, "method": method, "seed": seed}
                    rows += [{**place, "env_steps": steps, "score": round(score, 2)} for steps, score in points]
        return rows

    def summary(self, command: str) -> str:
        """A Markdown page: the claim, and a line for each method in each cell."""
        experiment = self.experiment
        axes = [key.rpartition(".")[2] for key in experiment.axes]
        head = [*axes, "method", "seeds", "settled (95 %)", "score, IQM (95 %)", "mean ± std", "per seed"]
        lines = [f"# {experiment.title}", "", *([experiment.claim.strip(), ""] if experiment.claim else [])]
        lines += [f"`{command}`", "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for cell in experiment.cells():
            for method in experiment.methods:
                rows = self.of(cell, method)
                if rows:
                    lines.append(f"| {' | '.join([*(str(v) for v in cell.values()), method, *_tell(rows)])} |")
        missing = len(experiment.jobs(Path())) - len(self.rows)
        if missing:
            lines += ["", f"{missing} runs are missing."]
        return "\n".join(lines) + "\n"


def recorded(folder: Path) -> dict[str, Row]:
    """Rows by the name of their run, of all experiments whose tables are in a folder."""
    found: dict[str, Row] = {}
    for curves in sorted(folder.glob(f"*{CURVES}")):
        points = defaultdict[tuple[str, ...], Curve](lambda: {"env_steps": [], "score": []})
        for line in _read_csv(curves):
            steps, score = int(line.pop("env_steps")), float(line.pop("score"))
            place = points[tuple(line.values())]
            place["env_steps"].append(steps)
            place["score"].append(score)
        for line in _read_csv(curves.with_name(curves.name.removesuffix(CURVES) + ".csv")):
            if "run" in line:
                names = list(line)
                first = names.index("run")
                place = points[tuple(line[name] for name in names[:first])]
                kept = {name: _value(line[name]) for name in names[first + 1 :] if line[name] and name != "made_by"}
                found[line["run"]] = {**kept, "curve": place}
    return found


def _tell(rows: dict[int, Row]) -> list[str]:
    scores = np.array([row["score"] for row in rows.values()])
    centre = bootstrap_iqm(scores)
    settled = "–"
    if all("settled" in row for row in rows.values()):
        count = sum(row["settled"] for row in rows.values())
        share = wilson(count, len(rows))
        settled = f"{count} of {len(rows)} ({share.low:.0%} to {share.high:.0%})"
    spread = f" ({_short(centre.low)} to {_short(centre.high)})" if len(rows) > 1 else ""
    return [
        str(len(rows)),
        settled,
        f"{_short(centre.value)}{spread}",
        f"{_short(scores.mean())} ± {_short(scores.std())}",
        ", ".join(_short(score) for score in scores),
    ]


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _cell_name(cell: Cell) -> str:
    return ", ".join(f"{key}={value}" for key, value in cell.items())


def _read_csv(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _write_csv(path: Path, rows: list[Row]) -> None:
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(names))
        writer.writeheader()
        writer.writerows(rows)
