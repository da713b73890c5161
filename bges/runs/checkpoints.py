"""Checkpoints: arrays and JSON with their digests; loading one executes nothing."""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.errors import BgesError, InputError
from bges.runs.files import point_link, write_file, write_text

Arrays = dict[str, NDArray[np.generic]]
FILES = ("arrays.npz", "state.json")


class DamagedCheckpoint(BgesError):
    """A checkpoint whose bytes are not those that were written."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The state after `iteration` finished iterations."""

    iteration: int
    values: dict[str, Any]
    arrays: Arrays


class Checkpoints:
    """The folder of a run's checkpoints, named by the number of finished iterations."""

    def __init__(self, folder: Path, *, keep: int = 3, keep_every: int = 0) -> None:
        self.folder, self._keep, self._keep_every = folder, keep, keep_every

    def iterations(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdigit() and path.is_dir())

    def save(self, iteration: int, values: dict[str, Any], arrays: Arrays, *, best: bool) -> Path:
        """Write a checkpoint and point last, and best where it holds a new best policy, at it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        target, draft = self.folder / f"{iteration:06d}", self.folder / f".{iteration:06d}.part"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            write_file(draft / "arrays.npz", lambda file: np.savez(file, allow_pickle=False, **arrays))
            write_text(draft / "state.json", json.dumps(values, indent=1))
            sums = "".join(f"{_digest(draft / name)}  {name}\n" for name in FILES)
            write_text(draft / "SHA256SUMS", sums)
            _remove(target)
            os.replace(draft, target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        point_link(self.folder / "last", target.name)
        if best or not (self.folder / "best").exists():
            point_link(self.folder / "best", target.name)
        self._prune()
        return target

    def _prune(self) -> None:
        iterations = self.iterations()
        kept = set(iterations[-self._keep :])
        kept |= {int((self.folder / name).readlink().name) for name in ("best", "last")}
        if self._keep_every:
            kept |= {i for i in iterations if i % self._keep_every == 0}
        for iteration in iterations:
            if iteration not in kept:
                _remove(self.folder / f"{iteration:06d}")

    def load(self, iteration: int) -> Checkpoint:
        """Read a checkpoint, refusing it if a byte is missing or changed."""
        folder = self.folder / f"{iteration:06d}"
        try:
            lines = (folder / "SHA256SUMS").read_text().splitlines()
            sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
            for name in FILES:
                if sums.get(name) != _digest(folder / name):
                    raise DamagedCheckpoint(f"{folder / name} is damaged: its content does not match SHA256SUMS")
            with np.load(folder / "arrays.npz", allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            values = json.loads((folder / "state.json").read_text())
        except (OSError, ValueError) as error:
            raise DamagedCheckpoint(f"{folder} cannot be read: {error}") from None
        return Checkpoint(iteration=iteration, values=values, arrays=arrays)

    def load_newest(self) -> tuple[Checkpoint, list[str]]:
        """The newest checkpoint that is sound, and what was wrong with the newer ones."""
        problems: list[str] = []
        for iteration in reversed(self.iterations()):
            try:
                return self.load(iteration), problems
            except DamagedCheckpoint as error:
                problems.append(f"{error}; using the checkpoint before it")
        raise InputError(
            f"{self.folder} holds no checkpoint that can be read{': ' if problems else ''}{'; '.join(problems)}"
        )

    def drop_after(self, iteration: int) -> None:
        """Remove checkpoints of iterations that are going to be repeated."""
        for later in self.iterations():
            if later > iteration:
                _remove(self.folder / f"{later:06d}")
        for name in ("best", "last"):
            link = self.folder / name
            if link.is_symlink() and not link.exists():
                point_link(link, f"{iteration:06d}")


def _remove(folder: Path) -> None:
    """Out of sight in one step, so that a kill leaves no half of a checkpoint."""
    doomed = folder.with_name(f".{folder.name}.old.part")
    shutil.rmtree(doomed, ignore_errors=True)
    if folder.exists():
        os.replace(folder, doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
