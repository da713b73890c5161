"""Runs grouped by method: those whose configurations differ in nothing but the seed and how the run is carried out."""

import json
from dataclasses import dataclass
from typing import Any

from bges.report.material import Material

# What changes neither the method nor the task.
CARRIED_OUT = ("seed", "workers", "checkpoint", "faults")
NAMES = {
    "bges": "BGES",
    "es": "ES",
    "nsres": "NSR-ES",
    "bgpg": "BGPG",
    "trpo": "TRPO",
    "pg": "PG",
    "repulsion": "Repulsion",
}
ABSENT = "–"


@dataclass(frozen=True, kw_only=True)
class Method:
    """Runs of one configuration; `index` chooses the colour, `differences` are the keys that set it apart."""

    index: int
    name: str
    runs: list[Material]
    differences: dict[str, str]


def flat(tree: Any, key: str = "") -> dict[str, str]:
    """Dotted keys and their values as text; an empty section has none."""
    if isinstance(tree, dict):
        found: dict[str, str] = {}
        for name, value in tree.items():
            found |= flat(value, f"{key}.{name}".lstrip("."))
        return found
    return {key: tree if isinstance(tree, str) else json.dumps(tree, default=str)}


def differing(trees: list[dict[str, str]]) -> list[str]:
    """Keys whose value is not the same in all, in the order of the first tree that has them."""
    keys = dict.fromkeys(key for tree in trees for key in tree)
    return [key for key in keys if len({tree.get(key) for tree in trees}) > 1]


def group(runs: list[Material]) -> list[Method]:
    """Methods in the order in which their first runs were given."""
    groups: dict[str, list[Material]] = {}
    trees: dict[str, dict[str, str]] = {}
    for run in runs:
        decides = {key: value for key, value in flat(run.tree).items() if key.partition(".")[0] not in CARRIED_OUT}
        name = json.dumps(decides, sort_keys=True)
        groups.setdefault(name, []).append(run)
        trees[name] = decides
    keys = differing(list(trees.values()))
    return [
        Method(
            index=index,
            name=_name(trees[name], list(trees.values()), runs[0]),
            runs=sorted(runs, key=lambda run: (run.seed is None, str(run.seed).zfill(20), run.name)),
            differences={key: trees[name].get(key, ABSENT) for key in keys},
        )
        for index, (name, runs) in enumerate(groups.items())
    ]


def _name(tree: dict[str, str], trees: list[dict[str, str]], first: Material) -> str:
    """The algorithm, and what tells it from other groups of the same algorithm."""
    algorithm = tree.get("algorithm", "")
    same = [other for other in trees if other.get("algorithm", "") == algorithm]
    told = [f"{key.rpartition('.')[2]} {tree[key]}" for key in differing(same) if key in tree]
    return ", ".join([NAMES.get(algorithm, algorithm or first.name), *told])
