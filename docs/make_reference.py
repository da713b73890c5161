"""Write the pages generated from the code: commands, presets, configuration.

python docs/make_reference.py            write them
python docs/make_reference.py --check    exit 1 if one is out of date
"""

import sys
from pathlib import Path
from typing import Any

import typer
from make_configuration import page as configuration
from typer.testing import CliRunner

from bges.cli import app
from bges.config.loading import PRESETS, preset_names

DOCS = Path(__file__).parent
COMMAND = "python docs/make_reference.py"
NOTE = f"<!-- Made by `{COMMAND}`: change the code, not this page. -->"


def commands() -> str:
    """The help of every command."""
    lines = [
        "# Commands",
        "",
        NOTE,
        "",
        "Exit codes: 0 done; 1 the run failed; 2 the request was wrong, and one line says how;",
    ]
    lines += ["130 interrupted, after a final checkpoint."]
    for path in _paths(typer.main.get_command(app), ()):
        told = CliRunner().invoke(app, [*path, "--help"], prog_name="bges", terminal_width=100)
        text = "\n".join(line.rstrip() for line in told.output.strip().splitlines())
        lines += ["", f"## `{' '.join(('bges', *path))}`", "", "```text", text, "```"]
    return "\n".join(lines) + "\n"


def _paths(command: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The words of every command, those of groups left out."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return [path]
    return [found for name, one in inner.items() for found in _paths(one, (*path, name))]


def presets() -> str:
    """Every preset as it is written, with its description."""
    lines = [
        "# Presets",
        "",
        NOTE,
        "",
        "`bges train NAME` trains one; `bges presets NAME` prints it with every key, including defaults.",
    ]
    for name in preset_names():
        first, *rest = (PRESETS / f"{name}.yaml").read_text().splitlines()
        lines += ["", f"## `{name}`", "", first.removeprefix("# "), "", "```yaml", *rest, "```"]
    return "\n".join(lines) + "\n"


PAGES = {"commands.md": commands, "presets.md": presets, "configuration.md": configuration}


def main() -> None:
    made = {DOCS / name: page() for name, page in PAGES.items()}
    if "--check" not in sys.argv[1:]:
        for path, text in made.items():
            path.write_text(text)
        return
    stale = [path.name for path, text in made.items() if not path.exists() or path.read_text() != text]
    if stale:
        sys.exit(f"{', '.join(stale)} out of date: run {COMMAND}")


if __name__ == "__main__":
    main()
