"""`bges bench`: play an experiment's runs, then write its table and its picture."""

from pathlib import Path

from rich.console import Console

from bges.bench.experiment import Experiment, Job
from bges.bench.results import Results, Row, recorded
from bges.bench.runner import play_jobs
from bges.distributed.session import ray_session
from bges.errors import RunError
from bges.training.signals import noted_signals

SHARED_BYTES = 64 * 2**20


def run_bench(
    name: str,
    experiment: Experiment,
    *,
    runs: Path,
    out: Path,
    command: str,
    workers: int | None = None,
    address: str | None = None,
    console: Console | None = None,
) -> Results:
    """Finished runs are not repeated, stopped ones are resumed; `workers` runs are played at a time.

    Finished are also those whose rows stand in a table of the folder `out`, wherever they were played.
    """
    console = console or Console(quiet=True)
    jobs = experiment.jobs(runs)
    results, failures = Results(experiment), dict[str, str]()

    def done(job: Job, row: Row | str) -> None:
        if isinstance(row, str):
            failures[job.label] = row
            told = "failed"
        else:
            results.add(job, row)
            told = _told(row)
        count = len(results.rows) + len(failures)
        console.print(f"{count}/{len(jobs)}  {job.label}: {told}", markup=False, highlight=False, soft_wrap=True)

    known = recorded(out)
    for job in jobs:
        if job.path.name in known:
            results.add(job, known[job.path.name])
    left = [job for job in jobs if job.path.name not in known]
    if len(left) < len(jobs):
        console.print(
            f"{len(jobs) - len(left)} of {len(jobs)} runs are already in {out}", markup=False, highlight=False
        )

    with noted_signals() as stopped, ray_session(address, SHARED_BYTES) as session:
        try:
            play_jobs(left, session, workers or session.cpus(), done, stopped)
        finally:
            if results.rows:
                files = results.write(name, out, command=command)
                console.print(f"\n{results.summary(command)}", markup=False, highlight=False, soft_wrap=True)
                for file in files:
                    console.print(str(file), highlight=False, soft_wrap=True)
    if failures:
        label, why = next(iter(failures.items()))
        raise RunError(f"{len(failures)} of {len(jobs)} runs failed; the first, {label}:\n{why}")
    return results


def _told(row: Row) -> str:
    settled = {1: "settled, ", 0: "not settled, ", None: ""}[row.get("settled")]
    return f"{settled}score {row['score']:.1f}, {row['env_steps']:,} steps, {row['seconds']:.0f} s"
