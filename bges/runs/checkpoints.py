"""Checkpoints: arrays and JSON with their digests; loading one executes nothing."""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bges.core.learner import State
from bges.core.snapshot import Snapshot
from bges.core.state import Arrays, part
from bges.errors import BgesError, InputError
from bges.runs.files import point_link, write_file, write_text
from bges.runs.legacy import upgraded_state

FILES = ("arrays.npz", "state.json")


class DamagedCheckpoint(BgesError):
    """A checkpoint whose bytes are not those that were written."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The state after `iteration` finished iterations, of the configuration with that hash."""

    iteration: int
    config_hash: str
    state: State

    @property
    def policies(self) -> int:
        """How many policies learn side by side."""
        return max(sum(name.startswith("last/") for name in self.state.policies), 1)

    def policy(self, which: str, member: int | None = None) -> Snapshot:
        """The best policy so far or the last one; of several side by side that of a member."""
        if which not in ("best", "last"):
            raise InputError(f"policy is {which!r}, expected best or last")
        if member is not None and not 0 <= member < self.policies:
            raise InputError(
                f"member is {member}, expected 0 to {self.policies - 1}: the run has {self.policies} policies"
            )
        name = which if member is None or self.policies == 1 else f"{which}/{member}"
        if name not in self.state.policies:
            what = "best policy" if member is None else f"best policy of member {member}: ask for the last"
            raise InputError(f"the run keeps no {what}")
        return Snapshot.restored(part(self.state.arrays, self.state.policies[name]))

    def functions(self) -> dict[str, Arrays]:
        """The states of the run's test functions, by their names."""
        return {name: part(self.state.arrays, place) for name, place in self.state.functions.items()}


class Checkpoints:
    """The folder of a run's checkpoints, named by the number of finished iterations."""

    def __init__(self, folder: Path, *, keep: int = 3, keep_every: int = 0) -> None:
        self.folder, self._keep, self._keep_every = folder, keep, keep_every

    def iterations(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdigit() and path.is_dir())

    def save(self, checkpoint: Checkpoint, *, best: bool) -> Path:
        """Write a checkpoint and point last, and best where it holds a new best policy, at it."""
        state, iteration = checkpoint.state, checkpoint.iteration
        document = {"config_hash": checkpoint.config_hash, "policies": state.policies, "functions": state.functions}
        self.folder.mkdir(parents=True, exist_ok=True)
        target, draft = self.folder / f"{iteration:06d}", self.folder / f".{iteration:06d}.part"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        try:
            write_file(draft / "arrays.npz", lambda file: np.savez(file, allow_pickle=False, **state.arrays))
            write_text(draft / "state.json", json.dumps(document | {"values": state.values}, indent=1))
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
            document = json.loads((folder / "state.json").read_text())
            state = _state(document, arrays)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedCheckpoint(f"{folder} cannot be read: {error}") from None
        return Checkpoint(iteration=iteration, config_hash=document["config_hash"], state=state)

    def load_newest(self) -> tuple[Checkpoint, list[str]]:
        """The newest valid checkpoint, and the problems with newer ones."""
        problems: list[str] = []
        for iteration in reversed(self.iterations()):
            try:
                return self.load(iteration), [f"{problem}; using the checkpoint before it" for problem in problems]
            except DamagedCheckpoint as error:
                problems.append(str(error))
        raise InputError(
            f"{self.folder} holds no checkpoint that can be read{': ' * bool(problems)}{'; '.join(problems)}"
        )

    def drop_after(self, iteration: int) -> None:
        """Remove checkpoints of iterations that will be repeated."""
        for later in self.iterations():
            if later > iteration:
                _remove(self.folder / f"{later:06d}")
        for name in ("best", "last"):
            link = self.folder / name
            if link.is_symlink() and not link.exists():
                point_link(link, f"{iteration:06d}")


def _state(document: dict[str, Any], arrays: Arrays) -> State:
    if "strategy" in document:
        return upgraded_state(document["strategy"], arrays)
    fields = ("values", "policies", "functions")
    return State(arrays=arrays, **{name: document[name] for name in fields})


def _remove(folder: Path) -> None:
    """Rename before deleting, so that a kill leaves no half-deleted checkpoint."""
    doomed = folder.with_name(f".{folder.name}.old.part")
    shutil.rmtree(doomed, ignore_errors=True)
    if folder.exists():
        os.replace(folder, doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
