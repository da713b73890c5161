"""Clusters elsewhere: Ray's launcher over ssh, and KubeRay by kubectl."""

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path

from bges.cluster.bundle import Request
from bges.cluster.files import KuberayFile, LauncherFile
from bges.cluster.screen import DASHBOARD
from bges.errors import InputError, Interrupted, RunError

TOKEN = Path("~/.ray/auth_token")
RUNS, JOBS = "bges-runs", "bges-jobs"


class Remote(ABC):
    """A cluster whose head can be given files and commands; paths there are relative to its home directory."""

    @abstractmethod
    def up(self) -> None: ...

    @abstractmethod
    def down(self) -> None: ...

    @abstractmethod
    def push(self, here: Path, there: str) -> None:
        """Copy what is in a folder to one of the head."""

    @abstractmethod
    def pull(self, there: str, here: Path) -> None:
        """And back."""

    @abstractmethod
    def run(self, command: str) -> None:
        """Run a command in the head's shell; its output appears here."""

    def status(self) -> None:
        self.run("python -m bges.cluster.screen")

    def scale(self, run: Path, workers: int) -> None:
        self.run(f"bges scale {shlex.quote(f'{RUNS}/{run.name}')} --workers {workers}")

    def submit(self, request: Request, *, wait: bool) -> None:
        """Copy everything to the head, follow the run, and copy its directory back however it ends."""
        name, run = request.job_name(), f"{RUNS}/{request.out.name}"
        with tempfile.TemporaryDirectory() as folder:
            request.pack(Path(folder) / "job")
            self.push(Path(folder) / "job", f"{JOBS}/{name}")
        if request.resume and request.out.is_dir():
            self.push(request.out, run)
        inner = request.command("bges", f"{JOBS}/{name}", f"../../{run}")
        job = f"ray job submit --address {DASHBOARD} --submission-id {name}{'' if wait else ' --no-wait'} "
        job += f"--metadata-json {shlex.quote(json.dumps({'run': run}))} -- bash -c {shlex.quote(f'cd && {inner}')}"
        try:
            self.run(job)
        except KeyboardInterrupt:
            self.run(f"ray job stop --address {DASHBOARD} {name}")
            raise Interrupted("resume it with --resume") from None
        finally:
            if wait:
                self.pull(run, request.out)


class Launcher(Remote):
    """`ray up` and its kin."""

    def __init__(self, file: LauncherFile) -> None:
        self._file = str(file.path)

    def up(self) -> None:
        if not TOKEN.expanduser().is_file():
            raise InputError(f"{TOKEN} is missing; all nodes share it: ray get-auth-token --generate")
        for program in ("ssh", "rsync"):
            _find(program)
        self._ray("up", "--yes", self._file)

    def down(self) -> None:
        self._ray("down", "--yes", self._file)

    def push(self, here: Path, there: str) -> None:
        self.run(f"mkdir -p {there}")
        self._ray("rsync-up", self._file, f"{here}/", f"~/{there}/")

    def pull(self, there: str, here: Path) -> None:
        here.mkdir(parents=True, exist_ok=True)
        self._ray("rsync-down", self._file, f"~/{there}/", f"{here}/")

    def run(self, command: str) -> None:
        self._ray("exec", self._file, command)

    def _ray(self, *arguments: str) -> None:
        _call([sys.executable, "-m", "ray.scripts.scripts", *arguments], f"ray {arguments[0]}")


class Kuberay(Remote):
    """`kubectl` in the present context and namespace."""

    def __init__(self, path: Path, file: KuberayFile) -> None:
        self._path, self._name = str(path), file.metadata.name

    def up(self) -> None:
        self._kubectl("apply", "-f", self._path)

    def down(self) -> None:
        self._kubectl("delete", "-f", self._path)

    def push(self, here: Path, there: str) -> None:
        self.run(f"mkdir -p {there}")
        self._kubectl("cp", f"{here}/.", f"{self._head()}:{there}")

    def pull(self, there: str, here: Path) -> None:
        self._kubectl("cp", f"{self._head()}:{there}", str(here))

    def run(self, command: str) -> None:
        self._kubectl("exec", self._head(), "--", "bash", "-lc", f"cd && {command}")

    def _head(self) -> str:
        labels = f"ray.io/cluster={self._name},ray.io/node-type=head"
        words = [_find("kubectl"), "get", "pods", "-l", labels, "-o", "jsonpath={.items[*].metadata.name}"]
        found = subprocess.run(words, capture_output=True, text=True)
        if found.returncode or not found.stdout.split():
            why = " ".join(found.stderr.split()) or "it has no head pod"
            raise RunError(f"cluster {self._name!r} is not up: {why}")
        return found.stdout.split()[0]

    def _kubectl(self, *arguments: str) -> None:
        _call([_find("kubectl"), *arguments], f"kubectl {arguments[0]}")


def _call(command: list[str], name: str) -> None:
    code = subprocess.run(command).returncode
    if code:
        raise RunError(f"{name} failed with exit code {code}; see its output above")


def _find(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise InputError(f"{program} is not installed or not on the path; this kind of cluster needs it")
    return path
