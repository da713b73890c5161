"""Runs on a local cluster, by Ray's job submission."""

import asyncio
import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from bges.cluster.bundle import Request
from bges.cluster.raylets import LocalState
from bges.errors import Interrupted, RunError

# What Ray's job manager says before a run says anything.
JOB, MANAGER = "Running entrypoint for job", " job_manager.py:"


def submit(state: LocalState, request: Request, *, wait: bool) -> None:
    """Start a run on the cluster's head and tell how it goes; it writes its directory where it belongs."""
    client, name, out = _client(state), request.job_name(), request.out.resolve()
    folder = Path(state.folder) / "jobs" / name
    request.pack(folder)
    bges = f"{shlex.quote(sys.executable)} -m bges.cli"
    entrypoint = f"bash -c {shlex.quote(request.command(bges, str(folder), str(out)))}"
    client.submit_job(entrypoint=entrypoint, submission_id=name, metadata={"run": str(out)})
    if not wait:
        return
    log = _Log(client, name)
    try:
        asyncio.run(log.follow())
    except KeyboardInterrupt:
        client.stop_job(name)
        asyncio.run(log.follow())
    status = str(client.get_job_status(name).value)
    if status == "STOPPED":
        raise Interrupted("resume it with --resume")
    if status != "SUCCEEDED":
        raise RunError(f"{request.out} failed on the cluster: {client.get_job_info(name).message}")


class _Log:
    """What a run says, each word once: Ray begins at the beginning whenever it is asked."""

    def __init__(self, client: Any, name: str) -> None:
        self._client, self._name, self._told = client, name, 0

    async def follow(self) -> None:
        old = self._told
        async for text in self._client.tail_job_logs(self._name):
            new, old = text[old:], max(old - len(text), 0)
            self._told += len(new)
            said = [line for line in new.splitlines(keepends=True) if not line.startswith(JOB) and MANAGER not in line]
            print("".join(said), end="", flush=True)


def _client(state: LocalState) -> Any:
    # Read when Ray is imported.
    os.environ.update(state.environment)
    from ray.exceptions import AuthenticationError
    from ray.job_submission import JobSubmissionClient

    for logger in ("ray", JobSubmissionClient.__module__):
        logging.getLogger(logger).setLevel(logging.ERROR)
    try:
        return JobSubmissionClient(state.dashboard)
    except (AuthenticationError, ConnectionError, RuntimeError) as error:
        raise RunError(f"cluster {state.name!r} does not answer: {' '.join(str(error).split())[:200]}") from None
