"""A copy of a run's directory elsewhere, at a URI that pyarrow knows: file://, s3://, gs://."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from bges.errors import InputError
from bges.runs.files import point_link, write_file

# A symbolic link travels as a small file that holds its target.
LINK = ".link"
# What only the process that makes a run needs.
OWN = (".lock", "control.json")
# Seconds before each of the last tries.
PAUSES = (0.0, 1.0, 4.0)


class Storage:
    """The copy of one run, updated by `send`, which may fail without harm to the run."""

    def __init__(self, uri: str, run: str, *, resume: bool) -> None:
        self.uri, self.failures, self._behind = f"{uri.rstrip('/')}/{run}", 0, True
        with _reaching(self.uri):
            self._files, self._root = fs.FileSystem.from_uri(self.uri)
            self._files.create_dir(self._root, recursive=True)
            # What each file of the copy was made of; of those that another process has left we do not know.
            self._sent: dict[str, object] = dict.fromkeys(_names(self._files, self._root))
        if "config.yaml" in self._sent and not resume:
            raise InputError(f"{self.uri} already holds a run: resume it with --resume, or choose another --out")

    def send(self, folder: Path) -> str | None:
        """Copy what has changed and remove what was deleted; returns the problem, if there was one."""
        self._behind = True
        try:
            self._send(folder)
        except (OSError, pa.ArrowException) as error:
            self.failures += 1
            return f"copy to {self.uri} failed, {self.failures} times so far: {' '.join(str(error).split())}"
        self._behind = False
        return None

    def finish(self, folder: Path) -> str | None:
        """A few more tries if the copy is not up to date; returns the last problem."""
        problem = None
        for pause in PAUSES:
            if not self._behind:
                return None
            time.sleep(pause)
            problem = self.send(folder)
        return problem

    def _send(self, folder: Path) -> None:
        here = {_name(path, folder): path for path in folder.rglob("*") if _travels(path)}
        # Checkpoints last, and old ones go when the new are there: one that is whole never knows more than the tables.
        for name in sorted(here, key=lambda name: (name.startswith("checkpoints/"), name)):
            made_of = _made_of(here[name])
            if self._sent.get(name) != made_of:
                self._put(name, here[name])
                self._sent[name] = made_of
        for name in self._sent.keys() - here.keys():
            self._files.delete_file(f"{self._root}/{name}")
            del self._sent[name]

    def _put(self, name: str, path: Path) -> None:
        """Written beside its place and moved into it, as files of a run are."""
        place, _, last = f"{self._root}/{name}".rpartition("/")
        self._files.create_dir(place, recursive=True)
        draft = f"{place}/.{last}.part"
        with self._files.open_output_stream(draft) as target:
            target.write(str(path.readlink()).encode() if path.is_symlink() else path.read_bytes())
        self._files.move(draft, f"{place}/{last}")


def fetch_run(uri: str, folder: Path) -> None:
    """Fetch a run directory from its copy, completely or not at all."""
    if folder.exists():
        raise InputError(f"{folder} already exists: resume that run, or choose another --out")
    draft = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    with _reaching(uri):
        files, root = fs.FileSystem.from_uri(uri)
        names = _names(files, root)
        if "config.yaml" not in names:
            raise InputError(f"{uri} holds no run: it has no config.yaml")
        for name in names:
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.open_input_stream(f"{root}/{name}") as source:
                content = source.read()
            if name.endswith(LINK):
                point_link(path.with_name(path.name.removesuffix(LINK)), content.decode())
            else:
                write_file(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
        draft.replace(folder)


def _travels(path: Path) -> bool:
    return (path.is_symlink() or path.is_file()) and path.name not in OWN and not path.name.endswith(".part")


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() + LINK * path.is_symlink()


def _made_of(path: Path) -> object:
    """Changes whenever the file does: it is written whole, beside its place, or it grows."""
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _names(files: Any, root: str) -> list[str]:
    """Files below a folder, drafts left out."""
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
    paths = [info.path for info in found if info.type == fs.FileType.File and not info.path.endswith(".part")]
    return [path[len(root) :].lstrip("/") for path in paths]


@contextmanager
def _reaching(uri: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"storage {uri!r} cannot be used: {' '.join(str(error).split())}") from None
