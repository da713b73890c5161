"""A user's own modules travel by value: they have to exist on the driver only."""

import sys
import sysconfig
from pathlib import Path
from types import ModuleType

from bges.config.run import RunConfig


def own_modules(config: RunConfig) -> list[ModuleType]:
    """Top-level modules that the configuration names and that are not installed packages."""
    names = [config.env.id, config.policy.name, config.embedding.name, config.novelty.cost]
    features = config.policy.kwargs.get("features")
    if isinstance(features, str):
        names.append(features)
    found = {name.split(":")[0].split(".")[0] for name in names if ":" in name}
    return [sys.modules[name] for name in sorted(found) if name in sys.modules and not _installed(sys.modules[name])]


def _installed(module: ModuleType) -> bool:
    if module.__name__ in ("bges", "bges_envs", "gymnasium"):
        return True
    if module.__name__ in sys.builtin_module_names or getattr(module, "__file__", None) is None:
        return not hasattr(module, "__path__")
    file = Path(str(module.__file__)).resolve()
    return any(
        file.is_relative_to(Path(sysconfig.get_paths()[kind]).resolve()) for kind in ("purelib", "platlib", "stdlib")
    )


def ship_by_value(config: RunConfig) -> None:
    from ray import cloudpickle

    for module in own_modules(config):
        cloudpickle.register_pickle_by_value(module)
