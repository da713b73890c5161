"""Configurations of version 0.1: what loads as it is, and what has another name now."""

from typing import Any

from bges.config.gradient import GRADIENT_SECTIONS
from bges.config.run import READERS
from bges.errors import InputError

RENAMED = {"pg.slots": "pg.num_envs"}
REMOVED = {
    "novelty.cycles": "the schedule cycles never helped",
}


def upgraded(tree: Any, source: str) -> Any:
    """A tree as this version writes it; a key that has another name now is refused with that name.

    Version 0.1 wrote every section of every algorithm into a run's config.yaml: what its algorithm does not read is
    dropped.
    """
    if not isinstance(tree, dict):
        return tree
    if _has(tree, "novelty.schedule") and tree["novelty"]["schedule"] == "cycles":
        raise InputError(f"{source}: novelty.schedule is 'cycles', which never helped and has no successor")
    if READERS.keys() - {"search"} <= tree.keys():
        kept = tree | {"novelty": {name: value for name, value in tree["novelty"].items() if name != "cycles"}}
        pg = {RENAMED.get(f"pg.{name}", f"pg.{name}")[3:]: value for name, value in tree["pg"].items()}
        return for_algorithm(kept | {"pg": pg, "search": {"explore": 0}})
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


def for_algorithm(tree: dict[str, Any]) -> dict[str, Any]:
    """A tree without sections, and keys of `pg`, that its algorithm does not read.

    Of one that becomes `bges` the section novelty stays: it is the paper's algorithm, as the other was its control.
    """
    algorithm = tree.get("algorithm", "bges")
    kept = {name: value for name, value in tree.items() if reads(algorithm, name)}
    if isinstance(kept.get("pg"), dict):
        kept["pg"] = {name: value for name, value in kept["pg"].items() if reads(algorithm, f"pg.{name}")}
    return kept


def reads(algorithm: Any, key: str) -> bool:
    """Whether an algorithm reads a section, or a dotted key."""
    section, _, name = key.partition(".")
    if algorithm not in READERS.get(section, (algorithm,)):
        return False
    return section != "pg" or not name or name in GRADIENT_SECTIONS[algorithm].model_fields
