"""`bges cluster`: start a cluster, submit runs, show its status, shut it down."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bges import options
from bges.errors import InputError

if TYPE_CHECKING:
    from bges.cluster.remote import Remote

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Ray clusters from YAML files; see docs/cluster.md."
)

File = Annotated[Path, typer.Argument(metavar="FILE.yaml", help="A cluster file, such as cluster/local.yaml.")]


@app.command()
def up(file: File) -> None:
    """Start the cluster described by a file."""
    from bges.cluster import raylets
    from bges.cluster.files import LocalFile, read_cluster

    cluster = read_cluster(file)
    if not isinstance(cluster, LocalFile):
        _remote(file).up()
        return
    state = raylets.up(cluster)
    print(f"cluster {state.name!r} is up: {len(cluster.nodes)} nodes, {sum(cluster.nodes)} CPUs, at {state.address}")
    print("to use it by hand:")
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"):
        print(f"  export {name}={state.environment[name]}")
    print(f"  bges train NAME --address {state.address}")


@app.command()
def submit(
    file: File,
    name: options.Name,
    seed: options.Seed = None,
    workers: options.Workers = None,
    iterations: options.Iterations = None,
    out: options.Out = None,
    set_: options.Changes = None,
    storage: options.StorageUri = None,
    resume: options.Resume = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return once the run has started.")] = False,
) -> None:
    """Train on a cluster and copy the run directory back. Ctrl-C stops the run after a checkpoint."""
    from bges.api import requested
    from bges.cluster.bundle import Request
    from bges.cluster.files import LocalFile, read_cluster

    cluster = read_cluster(file)
    config, path = requested(
        name,
        seed=seed,
        workers=workers,
        iterations=iterations,
        out=out,
        set_=set_,
        storage=storage,
        resume=resume,
    )
    if (path / "config.yaml").exists() and not resume:
        raise InputError(f"{path} already holds a run: resume it with --resume, or choose another --out")
    request = Request(config=config, out=path, resume=resume)
    if isinstance(cluster, LocalFile):
        from bges.cluster import jobs, raylets

        jobs.submit(raylets.load_state(cluster.cluster_name), request, wait=not no_wait)
    else:
        _remote(file).submit(request, wait=not no_wait)


@app.command()
def status(file: File) -> None:
    """Show nodes, CPUs and runs."""
    from bges.cluster.files import LocalFile, read_cluster

    cluster = read_cluster(file)
    if not isinstance(cluster, LocalFile):
        _remote(file).status()
        return
    from bges.cluster.raylets import load_state
    from bges.cluster.screen import screen

    state = load_state(cluster.cluster_name)
    os.environ.update(state.environment)
    print(screen(state.dashboard))


@app.command()
def down(file: File) -> None:
    """Shut the cluster down, with everything that runs on it."""
    from bges.cluster import raylets
    from bges.cluster.files import LocalFile, read_cluster

    cluster = read_cluster(file)
    if not isinstance(cluster, LocalFile):
        _remote(file).down()
        return
    raylets.down(raylets.load_state(cluster.cluster_name))
    print(f"cluster {cluster.cluster_name!r} is down")


def scale_there(file: Path, run: Path, workers: int) -> None:
    """Change the worker count of a run that was submitted."""
    from bges.cluster.files import LocalFile, read_cluster
    from bges.runs.directory import Run

    if isinstance(read_cluster(file), LocalFile):
        Run(run).request_workers(workers)
    else:
        _remote(file).scale(run, workers)


def _remote(file: Path) -> "Remote":
    from bges.cluster.files import KuberayFile, LauncherFile, read_cluster
    from bges.cluster.remote import Kuberay, Launcher

    cluster = read_cluster(file)
    if isinstance(cluster, KuberayFile):
        return Kuberay(file, cluster)
    assert isinstance(cluster, LauncherFile)
    return Launcher(cluster)
