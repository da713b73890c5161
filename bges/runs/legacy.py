"""Runs of version 0.1: their policies, test functions and tables can be read; they cannot be resumed."""

from typing import Any

import pyarrow as pa

from bges.core.learner import State
from bges.core.state import Arrays

RENAMED = {"reward": "return", "reward_mean": "return_mean", "reward_max": "return_max", "reward_std": "return_std"}


def upgraded_state(values: dict[str, Any], arrays: Arrays) -> State:
    """The state of a checkpoint of 0.1, with the names of what is in it."""
    members = [f"member{i}" for i in range(values.get("members", 1))]
    policies = {"last": members[values.get("current", 0)]}
    if "best/theta" in arrays:
        policies["best"] = "best"
    if len(members) > 1:
        policies |= {f"last/{i}": name for i, name in enumerate(members)}
        policies |= {f"best/{i}": f"best{i}" for i in range(len(members)) if f"best{i}/theta" in arrays}
    places = [name.removesuffix("/settings") for name in arrays if name.endswith("/settings")]
    functions = {place.removeprefix("functions/"): place for place in places if place.startswith("functions/")}
    if '"kind": "TestFunctions"' in str(arrays.get("novelty/distance/settings", "")):
        functions["novelty"] = "novelty/distance"
    return State(values={}, arrays=arrays, policies=policies, functions=functions)


def upgraded_table(table: pa.Table) -> pa.Table:
    """A table of metrics or behaviours under today's names."""
    return table.rename_columns([RENAMED.get(name, name) for name in table.column_names])
