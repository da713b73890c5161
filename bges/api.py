"""The Python interface: train a run, load its policy."""

import time
from pathlib import Path
from typing import Any

from bges.distributed.trainer import Progress, run_training
from bges.policies import FixedPolicy
from bges.runs.config import RunConfig, load_config
from bges.runs.directory import Run


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


def load_policy(run: str | Path, which: str = "best", member: int | None = None) -> FixedPolicy:
    """The best or last policy of a run, with its observation statistics: `policy(observation)` is an action.

    `member` is one of several that learned side by side.
    """
    return Run(run).policy(which, member=member)
