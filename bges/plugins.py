"""Parts by name: built-in ones from a table, a user's own by `module:attribute` or as a callable."""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from bges.checks import check_choice
from bges.errors import InputError, blamed, user_code


def is_plugin(name: str) -> bool:
    return ":" in name


def load_module(key: str, name: str) -> ModuleType:
    """The module of `module:attribute`; `key` is where the name was given."""
    module = name.partition(":")[0]
    try:
        return importlib.import_module(module)
    except Exception as error:
        # A module that exists but imports something that does not is the user's to mend.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            raise InputError(f"{key} is {name!r}: there is no module {missing!r} on the Python path") from None
        raise blamed(f"{key} is {name!r}, import of its module", error) from None


def load_attribute(key: str, name: str) -> Any:
    """The attribute that `module:attribute` names; `key` is where the name was given."""
    module, attribute = load_module(key, name), name.partition(":")[2]
    value: Any = module
    for part in attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise InputError(f"{key} is {name!r}: module {module.__name__!r} has no {attribute!r}") from None
    return value


def make_part(kind: str, spec: str | Callable[..., Any], table: Mapping[str, Any], kwargs: dict[str, Any]) -> Any:
    """The part that `spec` names, built with `kwargs`; every mistake is one `InputError` that says what is allowed."""
    if isinstance(spec, str) and not is_plugin(spec):
        return build(f"{kind} {spec}", table[check_choice(kind, spec, table)], kwargs)
    part = load_attribute(kind, spec) if isinstance(spec, str) else spec
    if not callable(part):
        raise InputError(f"{kind} {spec!r} is not callable")
    if inspect.isclass(part):
        with user_code(f"{kind} {part_name(spec)!r}, __init__"):
            return build(f"{kind} {spec!r}", part, kwargs)
    return functools.partial(part, **kwargs) if kwargs else part


@contextmanager
def from_extra(extra: str, what: str, *packages: str) -> Iterator[None]:
    """Around imports of `packages`: where one is missing, say which extra of this package brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        raise InputError(f'{what} needs {error.name}, which is not installed: pip install "bges[{extra}]"') from None


def part_name(spec: Any) -> str:
    """What to call a part in messages."""
    return spec if isinstance(spec, str) else str(getattr(spec, "name", getattr(spec, "__name__", repr(spec))))


def build(what: str, factory: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """`factory(**kwargs)`, refusing unknown arguments with the nearest known one and naming those that are missing."""
    parameters = inspect.signature(factory).parameters.values()
    allowed = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for key in kwargs:
        if not allowed:
            raise InputError(f"{what} takes no arguments, got {key!r}")
        check_choice(f"argument of {what}", key, allowed)
    missing = [p.name for p in parameters if p.name in allowed and p.default is p.empty and p.name not in kwargs]
    if missing:
        raise InputError(f"{what} needs the argument {missing[0]!r}")
    return factory(**kwargs)
