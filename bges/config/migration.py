"""Configurations of version 0.1: what loads as it is, and what has another name now."""

from typing import Any

from bges.config.gradient import GRADIENT_SECTIONS
from bges.config.run import READERS
from bges.errors import InputError

RENAMED = {"pg.slots": "pg.num_envs"}
REMOVED = {
    "novelty.cycles": "the schedule cycles is gone: it never helped",
}


def upgraded(tree: Any, source: str) -> Any:
    """A tree as this version writes it; a key that has another name now is refused with that name.

    Version 0.1 wrote every section of every algorithm into a run's config.yaml: what its algorithm does not read is
    dropped.
    """
    if not isinstance(tree, dict):
        return tree
    if READERS.keys() <= tree.keys():
        return _without_foreign(tree)
    for old, new in RENAMED.items():
        if _has(tree, old):
            raise InputError(f"{source}: {old} of version 0.1 is now {new}")
    for old, why in REMOVED.items():
        if _has(tree, old):
            raise InputError(f"{source}: {old} of version 0.1 has no successor: {why}")
    return tree


def _has(tree: dict[str, Any], key: str) -> bool:
    section, _, name = key.partition(".")
    return isinstance(tree.get(section), dict) and name in tree[section]


def _without_foreign(tree: dict[str, Any]) -> dict[str, Any]:
    algorithm = tree.get("algorithm")
    kept = {name: value for name, value in tree.items() if algorithm in READERS.get(name, (algorithm,))}
    if "novelty" in kept:
        kept["novelty"] = {name: value for name, value in kept["novelty"].items() if name != "cycles"}
    if "pg" in kept:
        known = GRADIENT_SECTIONS[str(algorithm)].model_fields
        pg = {RENAMED.get(f"pg.{name}", f"pg.{name}")[3:]: value for name, value in kept["pg"].items()}
        kept["pg"] = {name: value for name, value in pg.items() if name in known}
    return kept
