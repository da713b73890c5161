"""Options that more than one command has."""

from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME|FILE.yaml", help="A preset, a YAML file, a run directory or a URI.")]
Seed = Annotated[int | None, typer.Option(help="Random seed.")]
Workers = Annotated[str | None, typer.Option(metavar="N|auto", help="Number of rollout workers.")]
Iterations = Annotated[int | None, typer.Option(help="Total number of iterations.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Run directory; default: runs/NAME-SEED-TIME.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. es.sigma=0.05; repeatable.")
]
StorageUri = Annotated[
    str | None, typer.Option(metavar="URI", help="Copy the run to URI/NAME at each checkpoint, e.g. s3://bucket.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume the run in --out, or the newest one.")]
