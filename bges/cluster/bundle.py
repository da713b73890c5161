"""What a run takes along to a cluster: its configuration and the user's own modules."""

import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from bges.config.run import RunConfig
from bges.core.problem import Problem
from bges.distributed.shipping import own_modules
from bges.runs.files import write_text


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run for a cluster; `out` is where its directory is to be here."""

    config: RunConfig
    out: Path
    resume: bool

    def job_name(self) -> str:
        return f"{self.out.name}-{time.strftime('%Y%m%d-%H%M%S')}"

    def pack(self, folder: Path) -> None:
        """Fill a folder. A name that cannot be resolved is refused here, before anything travels."""
        Problem.of(self.config)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "config.yaml", self.config.to_yaml())
        for module in own_modules(self.config):
            source = Path(str(module.__file__))
            if source.stem == "__init__":
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source.parent, folder / source.parent.name, ignore=ignored)
            else:
                shutil.copy(source, folder)

    def command(self, bges: str, folder: str, out: str) -> str:
        """What is run on the head, in the folder that was packed."""
        words = f"cd {shlex.quote(folder)} && exec {bges} train config.yaml --address auto --out {shlex.quote(out)}"
        return words + " --resume" * self.resume
