"""Small runs for tests of training."""

from tests.evolution.conftest import SMALL, merged


def tree(changes=None):
    return merged(SMALL, changes or {})
