"""Errors that a user can cause; everything else is a bug and keeps its traceback."""


class BgesError(Exception):
    """A request that cannot be met; the message says what to change."""


class InputError(BgesError, ValueError):
    """A value that is not allowed: the message names it, its value and what is expected."""


class RunError(BgesError):
    """A run that could not go on; what it had finished is on disk."""


class Interrupted(BgesError):
    """A run that was asked to stop, after its final checkpoint."""
