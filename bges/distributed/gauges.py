"""Numbers of a run for the dashboard of a Ray cluster, and whatever reads its metrics."""

import math
from typing import Any

GAUGES = {
    "steps_per_second": "environment steps per second",
    "score": "return of the unperturbed policy",
    "best_score": "highest score so far",
    "workers": "workers that are there or starting",
    "lost_chunks": "chunks played again, since the beginning",
    "iteration": "finished iterations",
}


class Gauges:
    """`bges_NAME{run="..."}`, set after each iteration."""

    def __init__(self, run: str) -> None:
        from ray.util.metrics import Gauge

        self._gauges = {name: Gauge(f"bges_{name}", text, tag_keys=("run",)) for name, text in GAUGES.items()}
        self._tags, self._lost = {"run": run}, 0

    def update(self, row: dict[str, Any]) -> None:
        self._lost += int(row["lost_chunks"])
        values = row | {"lost_chunks": self._lost, "iteration": row["iteration"] + 1}
        for name, gauge in self._gauges.items():
            if math.isfinite(values[name]):
                gauge.set(float(values[name]), tags=self._tags)
