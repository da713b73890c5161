"""States as dictionaries of arrays: what a checkpoint can embed, and one .npz file that executes nothing when read."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.errors import InputError

Arrays = dict[str, NDArray[np.generic]]


def pack(settings: dict[str, Any], parts: dict[str, Arrays]) -> Arrays:
    """One flat dictionary: the settings as JSON text, each part's arrays under its name and a slash."""
    flat: Arrays = {"settings": np.array(json.dumps(settings, sort_keys=True))}
    for part, arrays in parts.items():
        flat |= {f"{part}/{name}": array for name, array in arrays.items()}
    return flat


def unpack(state: Arrays, kind: str) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """The settings and parts of `pack`, refused if they are not those of a `kind`."""
    try:
        settings = json.loads(str(state["settings"]))
        found = settings["kind"]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"this is not the saved state of {kind}") from None
    if found != kind:
        raise InputError(f"this is the saved state of {found}, expected {kind}")
    parts: dict[str, Arrays] = {}
    for name, array in state.items():
        part, slash, key = name.partition("/")
        if slash:
            parts.setdefault(part, {})[key] = np.asarray(array)
    return settings, parts


def save_arrays(path: str | os.PathLike[str], arrays: Arrays) -> None:
    """Write one .npz whole and rename it into place."""
    target = Path(path)
    draft = target.with_name(target.name + ".part")
    with draft.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    os.replace(draft, target)


def load_arrays(path: str | os.PathLike[str]) -> Arrays:
    """Read an .npz without ever unpickling."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (ValueError, AttributeError, EOFError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a readable file of arrays: {error}") from None
