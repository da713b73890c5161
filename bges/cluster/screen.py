"""The status of a cluster. On a head node: `python -m bges.cluster.screen`."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from bges.errors import BgesError, InputError, RunError
from bges.runs.directory import Run

DASHBOARD = "http://127.0.0.1:8265"
ENDED_SHOWN = 5


def node_rows(dashboard: str) -> list[dict[str, Any]]:
    """The nodes that are alive: name, head or not, CPUs."""
    from ray.util.state import list_nodes
    from ray.util.state.exception import RayStateApiException

    try:
        nodes = list_nodes(address=dashboard, detail=True, timeout=20, raise_on_missing_output=False)
    # Whatever the HTTP library calls it, nobody answers there.
    except (RayStateApiException, OSError, RuntimeError) as error:
        raise RunError(f"no cluster answers at {dashboard}: {' '.join(str(error).split())[:200]}") from None
    alive = [node for node in nodes if node.state == "ALIVE"]
    return [
        {
            "node": node.node_id[:8],
            "ip": node.node_ip,
            "head": node.is_head_node,
            "cpus": node.resources_total.get("CPU", 0),
        }
        for node in sorted(alive, key=lambda node: (not node.is_head_node, node.start_time_ms or 0))
    ]


def job_rows(dashboard: str) -> list[dict[str, Any]]:
    """Runs that were submitted, the newest first."""
    from ray.job_submission import JobSubmissionClient

    try:
        jobs = JobSubmissionClient(dashboard).list_jobs()
    except (ConnectionError, RuntimeError) as error:
        raise RunError(f"no cluster answers at {dashboard}: {' '.join(str(error).split())[:200]}") from None
    newest = sorted(jobs, key=lambda job: -(job.start_time or 0))
    rows = [{"status": str(job.status.value), "run": (job.metadata or {}).get("run")} for job in newest]
    return [row for row in rows if row["run"]]


def screen(dashboard: str) -> str:
    nodes, jobs = node_rows(dashboard), job_rows(dashboard)
    going = [job for job in jobs if job["status"] in ("PENDING", "RUNNING")]
    ended = [job for job in jobs if job not in going][:ENDED_SHOWN]
    cpus = sum(node["cpus"] for node in nodes)
    lines = [f"{len(nodes)} nodes, {cpus:g} CPUs, {len(going)} running"]
    lines += [f"  {node['node']}  {node['ip']:15}  {node['cpus']:3g} CPUs{'  head' * node['head']}" for node in nodes]
    lines += [
        f"  {job['status'].lower():9}  {job['run']}  {run_facts(Path(job['run']))}".rstrip() for job in going + ended
    ]
    return "\n".join(lines)


def run_facts(path: Path) -> str:
    """The last row of a run's metrics, where they can be read from here."""
    try:
        run = Run(path)
        row = run.metrics().to_pylist()[-1]
    except InputError:
        return ""
    age = time.time() - (path / "metrics.parquet").stat().st_mtime
    return (
        f"iteration {row['iteration'] + 1}/{run.config.iterations}  score {row['score']:.1f}  "
        f"{row['steps_per_second']:,.0f} steps/s  {row['workers']} workers  "
        f"{row['lost_chunks']} lost  ({age:.0f} s ago)"
    )


def main() -> None:
    try:
        print(screen(os.environ.get("BGES_DASHBOARD", DASHBOARD)))
    except BgesError as error:
        sys.exit(f"bges: {error}")


if __name__ == "__main__":
    main()
