"""A cluster of this machine: raylets on loopback, started here and ended by the ids that were noted."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bges.cluster.files import LocalFile
from bges.errors import InputError, RunError
from bges.runs.files import write_json

HOST = "127.0.0.1"
SECONDS_TO_START = 600.0
SECONDS_TO_END = 20.0
ATTEMPTS = 3
STARTED = "Ray runtime started."
HEAD = ["--head", "--block", "--disable-usage-stats", f"--node-ip-address={HOST}", "--num-gpus=0"]
HEAD += ["--min-worker-port=0", "--max-worker-port=0", "--include-dashboard=true", f"--dashboard-host={HOST}"]
# A node whose process is gone refuses every check at once; one that is only slow has half a minute.
HEALTH = {"health_check_initial_delay_ms": 2000, "health_check_period_ms": 1000}
HEALTH |= {"health_check_timeout_ms": 10_000, "health_check_failure_threshold": 3}


class NodeError(RunError):
    """A node whose process has ended."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process by id and birth, so that another one that got its id later is left alone."""

    pid: int
    born: str

    @classmethod
    def of(cls, pid: int) -> "Process":
        return cls(pid=pid, born=_born(pid))

    def lives(self) -> bool:
        return _born(self.pid) == self.born != ""

    def end_group(self) -> None:
        """End it with all that it has started, which may outlive it; nobody else gets its id meanwhile."""
        if _born(self.pid) in (self.born, ""):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


@dataclass(frozen=True, kw_only=True)
class LocalState:
    """What there is of a cluster that is up; the head's process is the first."""

    name: str
    address: str
    dashboard: str
    folder: str
    processes: tuple[Process, ...]

    @property
    def token(self) -> Path:
        return Path(self.folder) / "token"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to talk to it."""
        return _environment(Path(self.folder))


def up(file: LocalFile) -> LocalState:
    """Start a raylet for each node and wait until all have joined."""
    if _state_path(file.cluster_name).exists():
        raise InputError(f"cluster {file.cluster_name!r} is up already, or was not ended: bges cluster down")
    state = _planned(file.cluster_name)
    store = file.object_store_mb * 2**20
    try:
        state = _start(state, _head(state, file.nodes[0], store))
        for cpus in file.nodes[1:]:
            [agent] = _free_ports(1)
            state = _start(state, ["bges.cluster.node", state.address, str(cpus), str(store), str(agent)])
        os.environ.update(state.environment)
        _wait(state, lambda: _joined(state))
    except BaseException:
        with contextlib.suppress(InputError):
            down(load_state(state.name))
        raise
    return state


def _planned(name: str) -> LocalState:
    """Addresses and a token for a cluster of which nothing runs yet."""
    # Short, because sockets have their names in it; only this user may look in.
    folder = Path(tempfile.mkdtemp(prefix="bges-"))
    (folder / "ray").mkdir()
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    gcs, dashboard = _free_ports(2)
    return LocalState(
        name=name,
        address=f"{HOST}:{gcs}",
        dashboard=f"http://{HOST}:{dashboard}",
        folder=str(folder),
        processes=(),
    )


def _head(state: LocalState, cpus: int, store: int) -> list[str]:
    client, agent = _free_ports(2)
    gcs, dashboard = (address.rpartition(":")[2] for address in (state.address, state.dashboard))
    ports = [f"--port={gcs}", f"--dashboard-port={dashboard}", f"--ray-client-server-port={client}"]
    ports += [f"--dashboard-agent-listen-port={agent}"]
    sizes = [f"--num-cpus={cpus}", f"--object-store-memory={store}"]
    places = [f"--temp-dir={Path(state.folder) / 'ray'}", f"--system-config={json.dumps(HEALTH)}"]
    return ["ray.scripts.scripts", "start", *HEAD, *ports, *sizes, *places]


def down(state: LocalState) -> None:
    """End exactly the processes that were started, the head last, and remove what they left."""
    for process in reversed(state.processes):
        if process.lives():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + SECONDS_TO_END
    for process in reversed(state.processes):
        while process.lives() and time.monotonic() < deadline:
            time.sleep(0.1)
        process.end_group()
    shutil.rmtree(state.folder, ignore_errors=True)
    _state_path(state.name).unlink(missing_ok=True)


def load_state(name: str) -> LocalState:
    """The state of a cluster that is up."""
    try:
        tree: dict[str, Any] = json.loads(_state_path(name).read_text())
        return LocalState(**tree | {"processes": tuple(Process(**process) for process in tree["processes"])})
    except FileNotFoundError:
        raise InputError(f"cluster {name!r} is not up: start it with bges cluster up") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{_state_path(name)} is damaged: {error}") from None


def _wait(state: LocalState, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not ready():
        for place, process in enumerate(state.processes):
            if not process.lives():
                said = _log(state, place).read_text().strip().splitlines()[-5:]
                raise NodeError(f"node {place} of cluster {state.name!r} did not start: {' '.join(said)}")
        if time.monotonic() > deadline:
            raise RunError(f"cluster {state.name!r} did not start within {SECONDS_TO_START:g} s")
        time.sleep(0.2)


def _joined(state: LocalState) -> bool:
    from bges.cluster.screen import node_rows

    try:
        return len(node_rows(state.dashboard)) == len(state.processes)
    except RunError:
        return False


def _log(state: LocalState, place: int) -> Path:
    return Path(state.folder) / f"node{place}.log"


def _start(state: LocalState, arguments: list[str]) -> LocalState:
    """Start a node and wait for it: raylets of one address that start together mistake each other for themselves."""
    for attempt in range(1, ATTEMPTS + 1):
        started = _noted(state, _launch(_log(state, len(state.processes)), arguments, state.environment))
        try:
            _wait(started, lambda: STARTED in _log(state, len(state.processes)).read_text())
        except NodeError:
            started.processes[-1].end_group()
            # Ray gives a raylet 30 s, which on a busy machine is not always enough.
            if attempt == ATTEMPTS:
                raise
        else:
            break
    return started


def _launch(path: Path, arguments: list[str], environment: dict[str, str]) -> Process:
    with path.open("w") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return Process.of(child.pid)


def _environment(folder: Path) -> dict[str, str]:
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
        # Not where other clusters of this machine say who they are.
        "RAY_TMPDIR": str(folder / "ray"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DASHBOARD_STARTUP_TIMEOUT_S": f"{SECONDS_TO_START:.0f}",
        # The raylet gives up sooner than a busy machine has its agents imported.
        "RAY_agent_register_timeout_ms": f"{1000 * SECONDS_TO_START:.0f}",
        # A run that is asked to stop writes a checkpoint first; Ray would kill it after 3 s.
        "RAY_JOB_STOP_WAIT_TIME_S": "60",
        # Keeps what would listen everywhere on loopback.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }


def _noted(state: LocalState, process: Process) -> LocalState:
    """Noted at once, so that `down` knows it whatever happens next."""
    state = LocalState(**vars(state) | {"processes": (*state.processes, process)})
    path = _state_path(state.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, asdict(state))
    return state


def _state_path(name: str) -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "bges" / "clusters" / f"{name}.json"


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in probes]


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty if it is gone or only its exit code is left."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
