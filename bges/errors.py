"""Errors that a user can cause; everything else is a bug and keeps its traceback."""


class BgesError(Exception):
    """A request that cannot be met; the message says what to change."""


class InputError(BgesError, ValueError):
    """A value that is not allowed: the message names it, its value and what is expected."""
