"""Versions: our own, and those of all that decides the numbers of a run."""

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

__version__ = "0.1.0"

# The last three are there with the extra for policy gradients.
DECIDING = ("gymnasium", "mujoco", "numpy", "ray", "jax", "jaxlib", "optax")


def versions() -> str:
    """One line that says what a run was made with."""
    found = []
    for name in DECIDING:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    others = ", ".join(found)
    return f"bges {__version__}, python {platform.python_version()}, {others}, {platform.system()} {platform.machine()}"
