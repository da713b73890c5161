"""Mistakes in a configuration, each as one line."""

from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


def explain(model: type[BaseModel], error: ValidationError) -> str:
    """The first mistake, in one line that names the key, the value and what is allowed."""
    # A key that is misspelt is also one that is missing: the spelling is the news.
    errors = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    first = errors[0]
    path = [str(part) for part in first["loc"]]
    keys, section, rest, others = _follow(model, path)
    if first["type"] == "extra_forbidden":
        unknown = rest[0] if rest else path[-1]
        return _unknown(keys, unknown, section, others)
    if first["type"] == "missing":
        return f"{'.'.join(path)} is missing"
    message = first["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if first["type"] == "value_error":
        return f"{'.'.join(keys)}: {message}" if keys else message
    more = [
        e["msg"][0].lower() + e["msg"][1:] for e in errors[1:] if e["loc"][: len(keys)] == first["loc"][: len(keys)]
    ]
    return f"{'.'.join(keys)} is {first['input']!r}: {' or '.join([message, *more])}"


def _follow(
    model: type[BaseModel], path: list[str]
) -> tuple[list[str], type[BaseModel], list[str], dict[str, type[BaseModel]]]:
    """The keys of a path, the section they lead to, what of the path is left, and what else that section could be.

    Pydantic adds the names of union branches to a path; of a section that depends on the algorithm, its method.
    """
    keys: list[str] = []
    others: dict[str, type[BaseModel]] = {}
    section, rest = model, list(path)
    while rest and rest[0] in section.model_fields:
        annotation: Any = section.model_fields[rest[0]].annotation
        keys.append(rest.pop(0))
        variants = _variants(annotation)
        if variants and rest and rest[0] in variants:
            section, others = variants.pop(rest.pop(0)), variants
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            section = annotation
        else:
            break
    return keys, section, rest, others


def _variants(annotation: Any) -> dict[str, type[BaseModel]]:
    """The classes of a section that depends on the algorithm, by method."""
    classes = [kind for kind in get_args(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return {kind.model_fields["method"].default: kind for kind in classes if "method" in kind.model_fields}


def _unknown(keys: list[str], unknown: str, section: type[BaseModel], others: dict[str, type[BaseModel]]) -> str:
    known = [name for name, field in section.model_fields.items() if not field.exclude]
    owners = [method for method, other in others.items() if unknown in other.model_fields]
    near = get_close_matches(unknown, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    if owners:
        hint = f" (it is one of algorithm {', '.join(owners)})"
    where = ".".join([*keys, unknown])
    return f"unknown key {where!r}{hint}, expected one of: {', '.join(known)}"
