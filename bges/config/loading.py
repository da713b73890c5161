"""Where configurations come from: presets, YAML files, changes on top."""

import contextlib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from bges.config.migration import for_algorithm, upgraded
from bges.config.run import RunConfig
from bges.config.sections import Section
from bges.errors import InputError

PRESETS = Path(__file__).parent.parent / "presets"


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def read_yaml(path: Path, source: str) -> Any:
    try:
        tree = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not YAML: {' '.join(str(error).split())}") from None
    if tree is None:
        raise InputError(f"{source} is empty: name at least one key, such as env: {{id: Pendulum-v1}}")
    return tree


def load_config(source: str | Path | RunConfig, overrides: dict[str, Any] | None = None) -> RunConfig:
    """A preset by name, a YAML file, or a configuration, with dotted `overrides` ({"es.sigma": 0.1}) on top.

    Where they name another algorithm, what only the source's own one reads is left out.
    """
    if isinstance(source, RunConfig):
        tree, name = source.model_dump(mode="json"), "configuration"
    else:
        tree, name = _find(source)
    overrides = overrides or {}
    if isinstance(tree, dict) and overrides.get("algorithm", tree.get("algorithm")) != tree.get("algorithm"):
        tree = for_algorithm(tree | {"algorithm": overrides["algorithm"]})
    for key, value in overrides.items():
        _put(tree, key, value)
    return RunConfig.parse(tree, name)


def _find(source: str | Path) -> tuple[Any, str]:
    text = str(source)
    if text in preset_names():
        return read_yaml(PRESETS / f"{text}.yaml", f"preset {text}"), f"preset {text}"
    path = Path(source)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return upgraded(read_yaml(path, text), text), text
    near = get_close_matches(text, preset_names(), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError(f"there is no preset or YAML file {text!r}{hint}, presets: {', '.join(preset_names())}")


def parse_override(text: str) -> tuple[str, Any]:
    """`KEY=VALUE` with the value read as YAML."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r}: expected KEY=VALUE, such as es.sigma=0.05")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InputError(f"--set {text!r}: {' '.join(str(error).split())}") from None
    # YAML 1.1 reads 1e-3 as text; people who type it mean the number.
    if isinstance(parsed, str):
        with contextlib.suppress(ValueError):
            parsed = float(parsed)
    return key.strip(), parsed


def _put(tree: Any, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        if not isinstance(tree, dict):
            break
        tree = tree.setdefault(parent, {})
    if not isinstance(tree, dict):
        raise InputError(f"--set {key}: {key.rpartition('.')[0]} is a value, not a section")
    if not parents and isinstance(getattr(RunConfig.model_fields.get(key), "default", None), Section):
        raise InputError(f"--set {key}: it is a section; name one of its keys, such as {key}.KEY=VALUE")
    tree[last] = value
