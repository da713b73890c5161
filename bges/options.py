"""Options that more than one command has."""

from pathlib import Path
from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME|FILE.yaml", help="A preset, a YAML file, a run's folder or URI.")]
Seed = Annotated[int | None, typer.Option(help="Decides every random number.")]
Workers = Annotated[str | None, typer.Option(metavar="N|auto", help="Rollout workers.")]
Iterations = Annotated[int | None, typer.Option(help="Length of the whole run.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Default: runs/NAME-SEED-TIME.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, e.g. es.sigma=0.05.")
]
StorageUri = Annotated[
    str | None, typer.Option(metavar="URI", help="Copy the run to URI/NAME with each checkpoint, e.g. s3://bucket.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out, or with the newest.")]
