"""The page of the configuration, from the model itself."""

import json
from typing import Any

from bges.config.run import RunConfig

HEAD = """# Configuration

<!-- Made by `python docs/make_reference.py`: change the models in bges/config/, not this page. -->

A run is configured by one YAML tree. Every key has a default, so a file only needs the keys that differ. The tree is
validated before anything starts; an unknown key is refused with the nearest known one. `bges presets NAME` prints a
preset with every key, and `config.yaml` in a run directory is the full configuration of that run.

On the command line, `--set es.sigma=0.05` overrides a key; the value is read as YAML. In Python it is
`bges.train("point", overrides={"es.sigma": 0.05})`. A section that the algorithm does not read is an error in a file;
overriding `algorithm` drops what only the former algorithm reads.

`module:attribute` names [a part of your own](own.md); the module is searched on the Python path of the process that
starts the run, and by the command line also in the current directory.
[Training](training.md#resume) lists the keys that a resumed run may change.
"""

INTRODUCTIONS = {
    "env": "The task; see [environments](environments.md).",
    "policy": "The policy; see [policies](policies.md).",
    "embedding": "What counts as behaviour; see [behaviour](behavior.md#embeddings).",
    "novelty": "The novelty term; see [methods](methods.md). For `bges` it means the paper's algorithm. "
    "`nsres` uses only `beta`, `paper_weights` and the schedule; `es` only the restart of "
    "`explore_then_settle` and the finalists.",
    "search": "Only for `algorithm: bges`, whose default it is; see [methods](methods.md#bges-the-default). Of "
    "the section `es` it reads `population`, `chunk` and `noise_table`.",
    "es": "`bges`, `es` and `nsres`: the evolution strategy itself; see [methods](methods.md).",
    "nsres": "Only for `algorithm: nsres`.",
    "pg": "`bgpg`, `trpo`, `noisynet_trpo`, `particles` and `pg`; see [policy gradients](gradient.md). A key of one "
    "method given to another is an error. These all of them have:",
    "repulsion": "Only for `algorithm: repulsion`, whose test functions are those of `novelty` (`gamma`, `features`, "
    "`updates`, `width`, `cost`, `solver`); see [repulsion](repulsion.md).",
    "evaluation": "Evaluation of the unperturbed policy: the reported score. Methods with a novelty term need its "
    "behaviour and evaluate in every iteration, whatever `every` says.",
    "checkpoint": "Checkpoints and recorded behaviours; see [training](training.md#checkpoints).",
    "faults": "When to give up on a worker, and on the run; see [training](training.md#faults).",
}

NAMES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "null": "null"}


def kind(schema: dict[str, Any]) -> str:
    """The type of a value, in words."""
    if "anyOf" in schema:
        return " or ".join(kind(part) for part in schema["anyOf"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return "text"
    if schema["type"] == "array":
        return f"list of {kind(schema['items'])}s"
    if schema["type"] == "object":
        return "mapping"
    return NAMES[schema["type"]]


def allowed(schema: dict[str, Any]) -> str:
    """The range of a value, or its choices."""
    if "anyOf" in schema:
        return " or ".join(filter(None, (allowed(part) for part in schema["anyOf"])))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"each {allowed(schema['items'])}"
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
    return ", ".join(f"{sign} {number(schema[name])}" for name, sign in signs.items() if name in schema)


def number(value: float) -> str:
    return "2^63" if value == 2**63 else f"{value:g}"


def row(key: str, schema: dict[str, Any]) -> str:
    default = json.dumps(schema["default"]).strip('"')
    cells = (f"`{key}`", kind(schema), f"`{default}`", allowed(schema), schema["description"].replace("|", "\\|"))
    return "| " + " | ".join(cells) + " |"


def table(section: str, fields: dict[str, Any]) -> list[str]:
    lines = ["| key | type | default | allowed | meaning |", "|---|---|---|---|---|"]
    return lines + [row(f"{section}{name}", schema) for name, schema in fields.items()]


def methods(name: str, field: dict[str, Any], sections: dict[str, Any]) -> list[str]:
    """What all methods have in common, then what each has of its own."""
    found = {
        method: {key: part for key, part in sections[ref.rpartition("/")[2]]["properties"].items() if key != "method"}
        for method, ref in field["discriminator"]["mapping"].items()
    }
    first, *others = found.values()
    common = {key: part for key, part in first.items() if all(other.get(key) == part for other in others)}
    lines = table(f"{name}.", common)
    for method, fields in found.items():
        own = {key: part for key, part in fields.items() if key not in common}
        lines += ["", f"### `algorithm: {method}`", "", *table(f"{name}.", own)]
    return lines


def page() -> str:
    schema = RunConfig.model_json_schema()
    fields = schema["properties"]
    top = {name: field for name, field in fields.items() if "$ref" not in field and "oneOf" not in field}
    lines = [HEAD, "## The run", "", *table("", top)]
    for name, field in fields.items():
        if "$ref" in field:
            section = schema["$defs"][field["$ref"].rpartition("/")[2]]
            lines += ["", f"## `{name}`", "", INTRODUCTIONS[name], "", *table(f"{name}.", section["properties"])]
        elif "oneOf" in field:
            lines += ["", f"## `{name}`", "", INTRODUCTIONS[name], "", *methods(name, field, schema["$defs"])]
    return "\n".join(lines) + "\n"
