"""The command line."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from bges import options
from bges.cluster.commands import app as cluster_app
from bges.cluster.commands import scale_there
from bges.errors import BgesError, InputError, Interrupted
from bges.version import __version__

# Not click's own: newer versions of typer bring theirs.
UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Behaviour-guided evolution strategies and policy gradients on Ray.",
)
app.add_typer(cluster_app, name="cluster")


def main() -> None:
    """Exit codes: 0 done, 1 the run failed, 2 the request was wrong, 130 interrupted."""
    # As with `python -m`, a user's own modules are found where the command is given.
    sys.path.append(os.getcwd())
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], standalone_mode=False))
    except (Interrupted, typer.Abort, KeyboardInterrupt) as error:
        what_next = f"; {error}" if isinstance(error, Interrupted) else ""
        errors.print(f"bges: interrupted{what_next}", markup=False)
        sys.exit(130)
    except UsageError as error:
        errors.print(f"bges: {' '.join(error.format_message().split())}", markup=False)
        sys.exit(2)
    except InputError as error:
        errors.print(f"bges: {error}", markup=False)
        sys.exit(2)
    except BgesError as error:
        errors.print(f"bges: {error}", markup=False)
        sys.exit(1)


def _version(value: bool) -> None:
    if value:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def train(
    name: options.Name,
    seed: options.Seed = None,
    workers: options.Workers = None,
    iterations: options.Iterations = None,
    out: options.Out = None,
    set_: options.Changes = None,
    storage: options.StorageUri = None,
    resume: options.Resume = False,
    address: Annotated[
        str | None, typer.Option(metavar="auto|HOST:PORT", help="A Ray cluster; default: start a local Ray.")
    ] = None,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Print only the summary.")] = False,
) -> None:
    """Train a policy."""
    from bges.api import requested
    from bges.distributed.trainer import run_training
    from bges.summary import print_summary
    from bges.training.progress import ConsoleProgress

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
    console = Console()
    progress = ConsoleProgress(console, quiet=no_progress)
    run = run_training(config, path, resume=resume, address=address, progress=progress)
    print_summary(console, run)


@app.command("eval")
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    episodes: Annotated[int, typer.Option(min=1, help="Number of episodes.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the episodes.")] = 0,
    policy: Annotated[Literal["best", "last"], typer.Option(help="Which policy of the run.")] = "best",
    member: Annotated[
        int | None, typer.Option(min=0, help="Which of several policies trained side by side; default: the best, or 0.")
    ] = None,
    save_behavior: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Write the embedded episodes.")
    ] = None,
    embed_for: Annotated[
        str | None,
        typer.Option(metavar="PRESET|FILE.yaml", help="With --save-behavior: use the embedding of this configuration."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    video: Annotated[Path | None, typer.Option(metavar="FILE.mp4|.gif", help="Film the first episode.")] = None,
) -> None:
    """Evaluate a policy of a run, without exploration noise."""
    from bges.config.loading import load_config
    from bges.core.problem import Problem
    from bges.runs.behaviors import write_behaviors
    from bges.runs.directory import Run
    from bges.runs.evaluation import play_policy, told
    from bges.video import check_video_file, film_policy, write_film

    if video is not None:
        check_video_file(video)
    found = Run(run)
    problem = Problem.of(found.config)
    if embed_for is not None:
        if save_behavior is None:
            raise InputError("--embed-for needs --save-behavior")
        problem = problem.embedded_for(load_config(embed_for))
    result: dict[str, Any] = {"policy": policy, "episodes": episodes, "seed": seed}
    keep = () if save_behavior is None else problem.embedding.needs
    played = play_policy(found, which=policy, member=member, problem=problem, keep=keep, episodes=episodes, seed=seed)
    result |= told(played)
    if member is not None:
        result["member"] = member
    if save_behavior is not None:
        embedding = problem.config.embedding
        write_behaviors(save_behavior, problem.embedding(played) / embedding.scale, embedding)
        result["behavior"] = str(save_behavior)
    if video is not None:
        write_film(film_policy(found, which=policy, member=member, seed=seed), video)
        result["video"] = str(video)
    if json_:
        print(json.dumps(result))
        return
    of_several = "" if member is None else f", member {member}"
    print(f"{policy} policy of {run}{of_several}, {episodes} episodes, seed {seed}")
    print(f"return    {result['return_mean']:.1f} ± {result['return_std']:.1f}", end="")
    print(f"  (from {result['return_min']:.1f} to {result['return_max']:.1f})")
    print(f"length    {result['length_mean']:.1f}")
    for name in ("success", "past_wall", "goal_left", "goal_right", "fallen", "diverged"):
        if name in result:
            print(f"{name:9} {100 * result[name]:.0f} %")
    for name in ("behavior", "video"):
        if name in result:
            print(f"{name:9} {result[name]}")


@app.command()
def score(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    file: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="Episodes, embedded or whole, one per row.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE.parquet", help="Write the table with scores.")] = None,
    between: Annotated[
        tuple[int, int] | None, typer.Option(metavar="I J", help="Two policies of the run, I < J; default: 0 1.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Rows to print.")] = 20,
    json_: Annotated[bool, typer.Option("--json", help="Print all scores as JSON.")] = False,
) -> None:
    """Rank recorded behaviours by a run's last test functions; a high score resembles its past, or its first policy."""
    from bges.runs.behaviors import write_table
    from bges.runs.directory import Run
    from bges.runs.scoring import SCORES, score_table

    table = score_table(Run(run), file, between)
    if out is not None:
        write_table(out, table)
    rows = [{"row": i, **scores} for i, scores in enumerate(table.select(list(SCORES)).to_pylist())]
    rows.sort(key=lambda row: row["rank"])
    if json_:
        print(json.dumps(rows))
        return
    print(f"{'rank':>6}{'row':>8}{'score':>12}{'lambda_mu':>12}{'lambda_nu':>12}")
    for row in rows[:most]:
        print(f"{row['rank']:6}{row['row']:8}{row['score']:12.4g}{row['lambda_mu']:12.4g}{row['lambda_nu']:12.4g}")
    if len(rows) > most:
        print(f"   … {len(rows) - most} more")
    if out is not None:
        print(out)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Default: report.html, for a single run in its directory.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Also draw where the last policy of each run goes.")
    ] = None,
) -> None:
    """Write a report of one or more runs as a self-contained HTML file."""
    from bges.report import paths_picture, write_report

    if picture is not None:
        paths_picture(runs, picture)
        print(picture)
    path = out or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html"))
    print(write_report(runs, path))


@app.command()
def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 picks a free one.")] = 8790,
) -> None:
    """Serve a live report of a running run on 127.0.0.1; Ctrl-C stops it."""
    from bges.report.watch import HOST, make_server

    with make_server(run, port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"http://{HOST}:{server.server_port}/", flush=True)
        server.serve_forever()


@app.command()
def scale(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a running run.")],
    workers: Annotated[int, typer.Option(min=1, help="The new number of workers.")],
    cluster: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="The cluster it was submitted to, if not local.")
    ] = None,
) -> None:
    """Change the number of workers of a running run."""
    from bges.runs.directory import Run

    if cluster is None:
        Run(run).request_workers(workers)
    else:
        scale_there(cluster, run, workers)
    print(f"{run} will continue with {workers} workers")


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME|FILE.yaml", help="An experiment; without it, list them.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Run seeds 0 to N-1 of every method.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs in parallel; default: one per CPU.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, at most two minutes.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of the results; default: bench/NAME.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="auto|HOST:PORT", help="A Ray cluster; default: start a local Ray.")
    ] = None,
) -> None:
    """Run an experiment: methods compared over seeds. Finished runs are not repeated."""
    from bges.bench.bench import run_bench
    from bges.bench.experiment import experiment_names, load_experiment
    from bges.distributed.session import check_address

    check_address(address)
    if name is None:
        for known in experiment_names():
            print(f"{known:20} {load_experiment(known).title}")
        return
    experiment = load_experiment(name)
    if quick:
        experiment = experiment.shrunk()
    if seeds is not None:
        experiment = experiment.model_copy(update={"seeds": seeds})
    words = ["bges bench", name, *(["--quick"] if quick else []), *([f"--seeds {seeds}"] if seeds else [])]
    stem = f"{Path(name).stem}{'-quick' if quick else ''}"
    run_bench(
        stem,
        experiment,
        runs=Path("runs").resolve() / ("bench-quick" if quick else "bench"),
        out=out or Path("bench") / stem,
        command=" ".join(words),
        workers=workers,
        address=address,
        console=Console(),
    )


@app.command()
def presets(name: Annotated[str | None, typer.Argument(help="Print this preset.")] = None) -> None:
    """List the presets, or print one with every key."""
    from bges.config.loading import PRESETS, load_config, preset_names

    if name is not None:
        if name not in preset_names():
            load_config(name)
        print(load_config(name).to_yaml(), end="")
        return
    for preset in preset_names():
        first = (PRESETS / f"{preset}.yaml").read_text().splitlines()[0]
        print(f"{preset:20} {first.removeprefix('# ')}")


if __name__ == "__main__":
    main()
