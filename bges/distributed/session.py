"""A connection to Ray: an embedded local one, or an existing cluster."""

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bges.errors import InputError, Interrupted, RunError

LOCAL_STORE_BYTES = 128 * 2**20
SECONDS_TO_ANSWER = 10.0
# An embedded Ray's statistics are not shown; gathering them takes time from the workers' cores.
NO_STATISTICS = {"enable_metrics_collection": False, "task_events_report_interval_ms": 0}


@dataclass(frozen=True, kw_only=True)
class Session:
    """`embedded`: Ray was started by this process, and workers are not limited by its number of CPUs.

    `dashboard`: the cluster exports metrics.
    """

    embedded: bool
    dashboard: bool = False

    @property
    def worker_options(self) -> dict[str, Any]:
        # Embedded: as many workers as were asked for, whatever the machine has. Cluster: a CPU each, on many nodes.
        if self.embedded:
            return {"num_cpus": 0, "max_restarts": 0}
        return {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}

    @property
    def run_options(self) -> dict[str, Any]:
        """For whole runs as tasks: the caller counts them when the session is embedded."""
        return {"num_cpus": 0 if self.embedded else 1, "max_retries": 0}

    def cpus(self) -> int:
        """How many workers the cluster can hold now."""
        import ray

        if self.embedded:
            return os.cpu_count() or 1
        return max(int(ray.cluster_resources().get("CPU", 1)), 1)


@contextmanager
def ray_session(address: str | None, shared_bytes: int) -> Iterator[Session]:
    """Connect to `address`, or start a local Ray on loopback that ends with the session.

    `shared_bytes` is what the object store has to hold. A Ray that the caller has already started is used as it is.
    """
    embedded = address is None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # The pool lets go of a lost worker's other chunks on purpose; their errors are not news.
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    if embedded:
        # Read when Ray is imported: keeps a local cluster on loopback.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray

    if ray.is_initialized():
        yield Session(embedded=embedded and not _has_nodes())
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if embedded:
        try:
            joined = _init(
                address="local",
                include_dashboard=False,
                num_cpus=1,
                object_store_memory=max(LOCAL_STORE_BYTES, 2 * shared_bytes),
                _node_ip_address="127.0.0.1",
                _system_config=NO_STATISTICS,
                **quiet,
            )
        except Interrupted:
            raise
        except Exception as error:
            # Ray has no class of its own for a node that is not there after 30 seconds.
            said = f"Ray did not start on this machine, which may be too busy ({_one_line(error)})"
            raise RunError(f"{said}: try again, with --resume if the run directory exists") from error
    else:
        try:
            joined = _init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise _no_answer(address, _one_line(error)) from None
    try:
        yield Session(embedded=embedded, dashboard=not embedded and bool(joined.dashboard_url))
    finally:
        ray.shutdown()


def check_address(address: str | None) -> None:
    """Refuse a HOST:PORT where nothing listens: Ray itself would try for minutes."""
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address or ""
    host, _, port = named.rpartition(":")
    if not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, str(error)) from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _no_answer(address: str | None, why: str) -> InputError:
    return InputError(f"--address is {address!r}: no Ray cluster answers there ({why})")


def _init(**options: Any) -> Any:
    """Start or join Ray, which replaces the handler of SIGTERM: the former one is restored."""
    import ray

    handler = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings():
            # JAX, where it is in use, warns of every fork; Ray's processes are other programs from their first moment.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            return ray.init(**options)
    except SystemExit:
        raise Interrupted("resume it with --resume") from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _has_nodes() -> bool:
    import ray

    return len([node for node in ray.nodes() if node["Alive"]]) > 1
