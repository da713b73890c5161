"""The files of an experiment: a row for each run, the curves, a table of all methods, a picture."""

import csv
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bges.bench.experiment import Cell, Experiment, Job
from bges.bench.pictures import draw
from bges.bench.runner import verdicts
from bges.runs.files import write_text
from bges.statistics import bootstrap_iqm, fisher, permutation, smoothed, time_to, wilson

Row = dict[str, Any]
Curve = dict[str, list[Any]]
CURVES = "-curves.csv"


class Results:
    """What is known of an experiment's runs so far."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.rows: dict[tuple[str, str, int], Row] = {}

    def add(self, job: Job, row: Row) -> None:
        self.rows[(_cell_name(job.cell), job.method, job.seed)] = {"run": job.path.name, **verdicts(row), **row}

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
                    names, place = list(row["curve"]), {**cell, "method": method, "seed": seed}
                    points = zip(*row["curve"].values(), strict=True)
                    rows += [place | dict(zip(names, point, strict=True)) for point in points]
        return rows

    def summary(self, command: str) -> str:
        """A Markdown page: the claim, and a line for each method in each cell."""
        experiment = self.experiment
        axes = [key.rpartition(".")[2] for key in experiment.axes]
        # Not every task says what success is.
        counted = [name for name in experiment.counted if any(name in row for row in self.rows.values())]
        named = [f"{name.replace('_', ' ')} (95 %)" for name in counted]
        head = [*axes, "method", "seeds", *named, "score, IQM (95 %)", "mean ± std", "per seed"]
        lines = [f"# {experiment.title}", "", *([experiment.claim.strip(), ""] if experiment.claim else [])]
        timed, first = experiment.against == "wall_time", next(iter(experiment.methods))
        head += [f"p against {first}"] if len(experiment.methods) > 1 else []
        head += ["seconds to 90 % of the best score, median"] if timed else []
        lines += [f"`{command}`", "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for cell in experiment.cells():
            for method in experiment.methods:
                rows = self.of(cell, method)
                if rows:
                    told = _tell(rows, counted)
                    told += [self._doubt(cell, method, first)] if len(experiment.methods) > 1 else []
                    told += [self._when(cell, rows)] if timed else []
                    lines.append(f"| {' | '.join([*(str(v) for v in cell.values()), method, *told])} |")
        missing = len(experiment.jobs(Path())) - len(self.rows)
        if missing:
            lines += ["", f"{missing} runs are missing."]
        return "\n".join(lines) + "\n"

    def _doubt(self, cell: Cell, method: str, first: str) -> str:
        """How likely differences from the first method are by chance: of each count, and of the mean score."""
        rows, others = list(self.of(cell, method).values()), list(self.of(cell, first).values())
        if method == first or min(len(rows), len(others)) < 2:
            return ""
        told = []
        for name in self.experiment.counted:
            if all(name in row for row in rows + others):
                counts = [(sum(row[name] for row in some), len(some)) for some in (rows, others)]
                told.append(f"{name.replace('_', ' ')} {fisher(*counts[0], *counts[1]):.2g}")
        scores = ([row["score"] for row in some] for some in (rows, others))
        return ", ".join([*told, f"score {permutation(*scores):.2g}"])

    def _when(self, cell: Cell, rows: dict[int, Row]) -> str:
        """When runs came 90 % of the way from the first score to the best that any method of the cell reached."""
        curves = [row["curve"] for method in self.experiment.methods for row in self.of(cell, method).values()]
        first = np.mean([curve["score"][0] for curve in curves])
        best = max(smoothed(curve["score"]).max() for curve in curves)
        found = [time_to(row["curve"], first + 0.9 * (best - first)) for row in rows.values()]
        reached = sum(np.isfinite(found))
        when = float(np.median(found))
        return f"{_short(when) if np.isfinite(when) else 'not reached'} ({reached} of {len(found)})"


def recorded(folder: Path) -> dict[str, Row]:
    """Rows by the name of their run, of all experiments whose tables are in a folder."""
    found: dict[str, Row] = {}
    for path in sorted(folder.glob(f"*{CURVES}")):
        table = _read_csv(path.with_name(path.name.removesuffix(CURVES) + ".csv"))
        if not table or "run" not in table[0]:
            continue
        # What stands before it says which run it is: cell, method, seed.
        place = list(table[0]).index("run")
        curves = defaultdict[tuple[str, ...], Curve](lambda: defaultdict(list))
        for line in _read_csv(path):
            values = list(line.items())
            curve = curves[tuple(value for _, value in values[:place])]
            for name, value in values[place:]:
                if value:
                    curve[name].append(_value(value))
        for line in table:
            values = list(line.items())
            row = {name: _value(value) for name, value in values[place + 1 :] if value and name != "made_by"}
            found[line["run"]] = row | {"curve": dict(curves[tuple(value for _, value in values[:place])])}
    return found


def _tell(rows: dict[int, Row], counted: list[str]) -> list[str]:
    scores = np.array([row["score"] for row in rows.values()])
    centre = bootstrap_iqm(scores)
    spread = f" ({_short(centre.low)} to {_short(centre.high)})" if len(rows) > 1 else ""
    return [
        str(len(rows)),
        *(_count(rows, name) for name in counted),
        f"{_short(centre.value)}{spread}",
        f"{_short(scores.mean())} ± {_short(scores.std())}",
        ", ".join(_short(score) for score in scores),
    ]


def _count(rows: dict[int, Row], name: str) -> str:
    """How many of the runs a verdict holds for, with Wilson's interval."""
    if any(name not in row for row in rows.values()):
        return "–"
    count = sum(row[name] for row in rows.values())
    share = wilson(count, len(rows))
    return f"{count} of {len(rows)} ({share.low:.0%} to {share.high:.0%})"


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
