"""Versions: our own, and those of all that decides the numbers of a run."""

import platform
from importlib.metadata import version

__version__ = "0.1.0"

DECIDING = ("gymnasium", "mujoco", "numpy", "ray")


def versions() -> str:
    """One line that says what a run was made with."""
    others = ", ".join(f"{name} {version(name)}" for name in DECIDING)
    return f"bges {__version__}, python {platform.python_version()}, {others}, {platform.system()} {platform.machine()}"
