"""Adds files from outside docs/ to the site: the README and the results of the benchmarks."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# MkDocs would make a README the index, which is another page.
OVERVIEW = "overview.md"
RENAMED = {"README.md": OVERVIEW}
OUTSIDE = (
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "examples/*.py",
    "examples/*/*.py",
    "examples/*/*.yaml",
    "cluster/*.yaml",
    "cluster/README.md",
    "benchmarks/results/*.md",
    "benchmarks/results/*.png",
)


def on_files(files: Files, config: Any) -> Files:
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            place = str(path.relative_to(ROOT))
            files.append(File.generated(config, RENAMED.get(place, place), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """In the site, the pages of docs/ are next to the README and the other folders, not below."""
    place = page.file.src_uri
    if place == OVERVIEW:
        markdown = markdown.replace("](docs/", "](")
    elif "/" in place:
        markdown = markdown.replace("](../docs/", "](../")
    else:
        markdown = markdown.replace("](../", "](")
    for old, new in RENAMED.items():
        markdown = markdown.replace(f"]({old}", f"]({new}")
    return markdown
