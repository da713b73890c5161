"""Files that are whole or not there: written beside their place and renamed into it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def write_file(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Let `write` fill a file, flush it to the disk and rename it to `path`."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def point_link(link: Path, target: str) -> None:
    """Make `link` a symbolic link to `target`, replacing what it pointed at in one step."""
    draft = link.with_name(f".{link.name}.part")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target, target_is_directory=True)
    os.replace(draft, link)
