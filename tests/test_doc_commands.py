"""Every command in the documentation parses, and is played here, played by another test, or marked as needing more."""

import os
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import typer

from bges.bench.experiment import experiment_names
from bges.cli import app
from bges.config.loading import load_config
from bges.config.migration import reads
from bges.core.problem import Problem
from bges.distributed import trainer
from bges.errors import InputError
from bges.training.local import run_alone
from tests.test_docs import PAGES, ROOT

PROGRAMS = ("bges", "make", "python", "ray", "pip")
# The file of the test that plays such a command, and what has to stand there.
ELSEWHERE = {
    rf"bges bench ({'|'.join(experiment_names())})( .*)?": (
        "tests/bench/test_bench.py",
        "def test_the_quick_version_of_every_experiment_runs(",
    ),
    # Its expert's episodes are of full length.
    r"bges train swimmer-imitation": (
        "tests/bench/test_bench.py",
        "def test_the_quick_version_of_every_experiment_runs(",
    ),
    r"bges cluster up cluster/local.yaml": ("tests/cluster/test_local.py", '"cluster", "up"'),
    r"bges cluster submit cluster/local.yaml .*": ("tests/cluster/test_local.py", '"cluster", "submit"'),
    r"bges cluster status cluster/local.yaml": ("tests/cluster/test_local.py", '"cluster", "status"'),
    r"bges cluster down cluster/local.yaml": ("tests/cluster/test_local.py", '"cluster", "down"'),
    r"bges scale .*": ("tests/test_cli.py", "def test_the_worker_count_of_a_running_run_is_changed(", '"scale"'),
    r"bges watch .*": ("tests/report/test_watch.py", "def test_ctrl_c_ends_the_command(", '"watch"'),
    r"make demo": ("Makefile", "point-wide", "--set algorithm=es", "--picture"),
    r"make (test|lint|docs)": (".ci/run", "make test", "make lint", "make docs"),
}
NEEDS_MORE = 'title="needs '
# Appended to `bges train`, where the last word on an option counts: small enough to play all of them.
SMALL = ["--iterations", "2", "--no-progress"]
CHANGES = (
    *("env.horizon=12", "es.population=8", "es.noise_table=20000", "novelty.features=50", "evaluation.episodes=2"),
    *("pg.batch=80", "pg.num_envs=4", "repulsion.trajectories=6", "checkpoint.every=1"),
)


def blocks(page):
    """The language and the text of every fenced block."""
    return re.findall(r"^ *```(.*)\n((?:.*\n)*?) *```$", page.read_text(), flags=re.MULTILINE)


def commands(text):
    """Lines that are given to a shell, whole and without comments; of a transcript those after the prompt."""
    lines = text.replace("\\\n", " ").splitlines()
    prompted = [after for line in lines if (after := re.sub(r"^(\[\d+ s\] )?\$ ", "", line)) != line]
    lines = prompted or lines
    split = [shlex.split(line, comments=True) for line in lines if line.startswith(tuple(f"{p} " for p in PROGRAMS))]
    return [shlex.join(words) for words in split]


def shell_blocks(page):
    """Those that train first: pages say how a thing is used before they make an example of it."""
    found = [(kind, text) for kind, text in blocks(page) if not kind.startswith(("python", "yaml")) and commands(text)]
    return sorted(found, key=lambda block: "bges train" not in block[1])


def documented():
    return list(dict.fromkeys(line for page in PAGES for _, text in shell_blocks(page) for line in commands(text)))


def elsewhere(line):
    return next((where for pattern, where in ELSEWHERE.items() if re.fullmatch(pattern, line)), None)


def test_there_are_commands():
    assert len(documented()) > 40


@pytest.mark.parametrize("line", [line for line in documented() if line.startswith("bges ")])
def test_commands_parse(line):
    command, context, words = typer.main.get_command(app), None, shlex.split(line)
    while hasattr(command, "commands"):
        name, *words = words
        context = command.make_context(name, list(words), parent=context)
        command = command.commands[words[0]]
    command.make_context(words[0], words[1:], parent=context)


@pytest.mark.parametrize("line", [line for line in documented() if elsewhere(line)])
def test_what_is_played_elsewhere_is_there(line):
    file, *words = elsewhere(line)
    text = (ROOT / file).read_text()
    assert [word for word in words if word not in text] == []


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A directory with the files that the pages tell one to write or to copy."""
    shutil.copytree(ROOT / "examples" / "own_environment", tmp_path, dirs_exist_ok=True)
    for page in PAGES:
        for _, text in blocks(page):
            if named := re.match(r"# (\w+\.(?:py|yaml))\n", text):
                (tmp_path / named[1]).write_text(text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def play(line, monkeypatch):
    words = shlex.split(re.sub(r"(\S+)-TIME", lambda found: str(max(Path().glob(f"{found[1]}-*"))), line))
    if words[0] == "python":
        monkeypatch.setattr(sys, "argv", words[1:])
        runpy.run_path(words[1], run_name="__main__")
        return
    assert words[0] == "bges", f"{line}: play it, name the test that does, or mark its block {NEEDS_MORE}…"
    small = [*SMALL, *small_changes(words)] if words[1] == "train" and "--resume" not in words else []
    assert not typer.main.get_command(app)([*words[1:], *small], standalone_mode=False)


def small_changes(words):
    """Those that the algorithm of a `bges train` reads."""
    named = [word.removeprefix("algorithm=") for word in words if word.startswith("algorithm=")]
    source = Path(words[2], "config.yaml") if Path(words[2], "config.yaml").is_file() else words[2]
    algorithm = (named or [load_config(source).algorithm])[0]
    return [word for change in CHANGES if reads(algorithm, change.partition("=")[0]) for word in ("--set", change)]


def test_the_other_commands_run(scratch, monkeypatch, capsys):
    """In this process and without Ray: the same numbers, as other tests show, and no waiting for its start."""

    def alone(config, out, *, resume, address, progress):
        return run_alone(Problem.of(config), out, resume=resume, progress=progress)

    monkeypatch.setattr(trainer, "run_training", alone)
    played = set()
    for page in PAGES:
        for kind, text in shell_blocks(page):
            for line in commands(text):
                if NEEDS_MORE in kind or elsewhere(line) or line in played:
                    continue
                played.add(line)
                refusal = re.search(r"^bges: (.*)$", text, flags=re.MULTILINE)
                if refusal:
                    with pytest.raises(InputError, match=re.escape(refusal[1])):
                        play(line, monkeypatch)
                else:
                    play(line, monkeypatch)
    assert {"first", "wide", "again", "mine", "plane", "nsres", "pupil"} <= set(os.listdir("runs"))
    assert "best.gif" in os.listdir()
