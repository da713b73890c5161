"""Clusters elsewhere, with stand-ins for the programs that reach them: what is said to them, and what is made of it."""

import json
import os
import sys
from pathlib import Path

import pytest

from bges.cluster.bundle import Request
from bges.cluster.commands import _remote
from bges.cluster.remote import Launcher
from bges.errors import InputError, RunError
from tests.evolution.conftest import small_config

from .test_files import edited

PROGRAM = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1:3] == ["get", "pods"]:
    print("bges-head-x")
sys.exit(int(os.environ.get("FAILS_AT") == sys.argv[1]))
"""


@pytest.fixture
def said(tmp_path, monkeypatch):
    """What `kubectl`, and Ray's launcher, were told, word by word."""
    log, folder = tmp_path / "log", tmp_path / "bin"
    folder.mkdir()
    for name in ("kubectl", "ray", "ssh", "rsync"):
        (folder / name).write_text(PROGRAM.format(python=sys.executable, log=str(log)))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    call = Launcher._ray

    def ray(self, *arguments):
        monkeypatch.setattr(sys, "executable", str(folder / "ray"))
        call(self, *arguments)

    monkeypatch.setattr(Launcher, "_ray", ray)
    return lambda: [_words(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []


def _words(words):
    return words[2:] if words[:2] == ["-m", "ray.scripts.scripts"] else words


@pytest.mark.parametrize("name", ["aws", "kuberay"])
def test_a_run_goes_there_and_its_directory_comes_back(name, said, tmp_path):
    out = tmp_path / "runs" / "first"
    remote = _remote(edited(name, tmp_path))
    remote.submit(Request(config=small_config(), out=out, resume=False), wait=True)
    commands = [" ".join(words) for words in said() if words[:2] != ["get", "pods"]]
    made, pushed, run, pulled = commands
    assert "mkdir -p bges-jobs/first-" in made
    assert "bges-jobs/first-" in pushed
    assert "ray job submit --address http://127.0.0.1:8265 --submission-id first-" in run
    assert "exec bges train config.yaml --address auto --out ../../bges-runs/first" in run
    assert "bges-runs/first" in pulled
    assert str(out) in pulled


@pytest.mark.parametrize("name", ["aws", "kuberay"])
def test_the_head_is_asked_for_what_only_it_knows(name, said, tmp_path):
    remote = _remote(edited(name, tmp_path))
    remote.status()
    remote.scale(Path("runs/first"), 40)
    commands = [words[-1].removeprefix("cd && ") for words in said() if words[:2] != ["get", "pods"]]
    assert commands == ["python -m bges.cluster.screen", "bges scale bges-runs/first --workers 40"]


def test_up_and_down_are_those_of_kubectl_and_ray(said, tmp_path):
    path = edited("kuberay", tmp_path)
    _remote(path).up()
    _remote(path).down()
    launched = edited("onprem", tmp_path)
    with pytest.raises(InputError, match=r"auth_token is missing.*ray get-auth-token --generate"):
        _remote(launched).up()
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("secret")
    _remote(launched).up()
    _remote(launched).down()
    assert said() == [
        ["apply", "-f", str(path)],
        ["delete", "-f", str(path)],
        ["up", "--yes", str(launched)],
        ["down", "--yes", str(launched)],
    ]


def test_a_program_that_fails_is_named(said, tmp_path, monkeypatch):
    monkeypatch.setenv("FAILS_AT", "apply")
    with pytest.raises(RunError, match="kubectl apply failed with exit code 1"):
        _remote(edited("kuberay", tmp_path)).up()


def test_a_program_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="kubectl is not installed"):
        _remote(edited("kuberay", tmp_path)).up()
