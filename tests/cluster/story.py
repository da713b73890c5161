"""A run on a cluster that a test watches from outside, by its directory and by the command."""

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time
from pathlib import Path

from bges.config.loading import load_config
from bges.errors import InputError
from bges.runs.directory import Run
from tests.evolution.conftest import Local, small_tree, thetas_of

BGES = str(Path(sysconfig.get_path("scripts")) / "bges")
SECONDS = 900
OUT = "runs/first"


class Story:
    """A folder to give commands in. Its run takes `pace` seconds for a chunk until it is told to hurry."""

    def __init__(self, folder, environment, *, iterations, pace):
        self.folder, self.environment, self.iterations = folder, {**os.environ, **environment}, iterations
        shutil.copy(Path(__file__).with_name("paced.py"), folder)
        paced = {"name": "paced:final", "kwargs": {"flag": str(folder / "fast"), "seconds": pace}}
        changes = {"iterations": iterations, "embedding": paced, "workers": "auto", "checkpoint": {"every": 5}}
        (folder / "run.yaml").write_text(json.dumps(small_tree(changes)))

    def bges(self, *words):
        return subprocess.run(
            [BGES, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=SECONDS
        )

    def start(self, *words, out=OUT):
        """The command that makes the run, in the background."""
        with (self.folder / "log").open("w") as log:
            return subprocess.Popen(
                [BGES, *words, "run.yaml", "--out", out],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                # A suite that was started in the background ignores SIGINT, and so would this.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def said(self):
        return (self.folder / "log").read_text()

    def hurry(self):
        (self.folder / "fast").touch()

    def rows(self, out=OUT):
        try:
            return Run(self.folder / out).metrics().to_pylist()
        except InputError:
            return []

    def wait(self, process, condition, out=OUT):
        """Until a row of the metrics, from here on, meets the condition."""
        seen = len(self.rows(out))
        self.until(process, lambda: any(condition(row) for row in self.rows(out)[seen:]))

    def until(self, process, condition):
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert process.poll() is None, self.said()
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def theta(self, out=OUT):
        """Of the run, once all of its iterations are finished."""
        checkpoint, _ = Run(self.folder / out).checkpoints.load_newest()
        assert checkpoint.iteration == self.iterations
        return checkpoint.policy("last").theta.tobytes()

    def theta_alone(self, monkeypatch):
        """Of the same run without Ray."""
        monkeypatch.syspath_prepend(str(self.folder))
        made = Local(load_config(self.folder / "run.yaml"))
        while not made.strategy.done:
            made.step()
        return thetas_of(made.strategy)
