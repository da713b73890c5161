"""Behaviour-guided evolution strategies and policy gradients on Ray."""

from bges.version import __version__ as __version__
