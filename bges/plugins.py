"""Users' own parts, named `module:attribute`."""

import importlib
from types import ModuleType
from typing import Any

from bges.errors import InputError


def is_plugin(name: str) -> bool:
    return ":" in name


def load_module(key: str, name: str) -> ModuleType:
    """The module of `module:attribute`; `key` is where the name was given."""
    module = name.partition(":")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A module that exists but imports something that does not is the user's to mend: their traceback stays.
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise InputError(f"{key} is {name!r}: there is no module {error.name!r} on the Python path") from None
        raise


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
