"""The Python interface: train a run, load its policy."""

import time
from pathlib import Path, PurePosixPath
from typing import Any

from bges.config.loading import load_config, parse_override, preset_names
from bges.config.run import RunConfig
from bges.distributed.trainer import run_training
from bges.errors import InputError
from bges.policies import FixedPolicy
from bges.runs.directory import Run
from bges.runs.storage import fetch_run
from bges.training.loop import Progress


def train(
    source: str | Path | RunConfig,
    *,
    seed: int | None = None,
    workers: int | str | None = None,
    iterations: int | None = None,
    out: str | Path | None = None,
    overrides: dict[str, Any] | None = None,
    resume: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Train a preset, a YAML file or a configuration, and return its run.

    `overrides` are dotted keys, as in {"es.sigma": 0.05}; `address` is a Ray cluster's, None embeds a local Ray.
    """
    given = {"seed": seed, "workers": workers, "iterations": iterations}
    changes = {key: value for key, value in given.items() if value is not None} | (overrides or {})
    config = load_config(source, changes)
    path = default_out(source, config) if out is None else Path(out)
    return run_training(config, path, resume=resume, address=address, progress=progress)


def default_out(source: str | Path | RunConfig, config: RunConfig) -> Path:
    name = "run" if isinstance(source, RunConfig) else Path(source).stem
    return Path("runs") / f"{name}-{config.seed}-{time.strftime('%Y%m%d-%H%M%S')}"


def requested(
    name: str,
    *,
    seed: int | None,
    workers: str | None,
    iterations: int | None,
    out: Path | None,
    set_: list[str] | None,
    storage: str | None,
    resume: bool,
) -> tuple[RunConfig, Path]:
    """What the command line's options ask for: a configuration, and where the run is or is to be."""
    number = int(workers) if workers is not None and workers.lstrip("-").isdigit() else workers
    given = {"seed": seed, "workers": number, "iterations": iterations, "checkpoint.storage": storage}
    overrides: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    overrides |= dict(parse_override(text) for text in set_ or [])
    if "://" in name:
        if not resume:
            raise InputError(f"{name} is a stored run: resume it with --resume")
        copy, name = name, str(out or Path("runs") / PurePosixPath(name).name)
        fetch_run(copy, Path(name))
    if (Path(name) / "config.yaml").is_file():
        out, name = out or Path(name), str(Path(name) / "config.yaml")
    config = load_config(name, overrides)
    path = out or (_newest(name, config.seed) if resume else default_out(name, config))
    if resume and name in preset_names() and (path / "config.yaml").is_file():
        # The run knows what was changed of the preset when it was begun.
        config = load_config(path / "config.yaml", overrides)
    return config, path


def _newest(name: str, seed: int) -> Path:
    """The newest run of that name and seed."""
    found = sorted(Path("runs").glob(f"{Path(name).stem}-{seed}-*/config.yaml"), key=lambda path: path.parent.name)
    if not found:
        raise InputError(f"--resume: there is no run runs/{Path(name).stem}-{seed}-*; give its directory with --out")
    return found[-1].parent


def load_policy(run: str | Path, which: str = "best", member: int | None = None) -> FixedPolicy:
    """The best or last policy of a run, with its observation statistics: `policy(observation)` is an action.

    `member` is one of several that learned side by side.
    """
    return Run(run).policy(which, member=member)
