"""Errors that a user can cause; everything else is a bug and keeps its traceback."""

from collections.abc import Iterator
from contextlib import contextmanager


class BgesError(Exception):
    """A request that cannot be met; the message says what to change."""


class InputError(BgesError, ValueError):
    """A value that is not allowed: the message names it, its value and what is expected."""


@contextmanager
def within(key: str) -> Iterator[None]:
    """Say which part of a configuration an `InputError` is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


class RunError(BgesError):
    """A run that could not go on; what it had finished is on disk."""


class Interrupted(BgesError):
    """Asked to stop, after what is finished was written; the message says how to go on."""
