"""Errors that a user can cause; everything else is a bug and keeps its traceback."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

# Whose frames say nothing to those who wrote an environment or an embedding.
MACHINERY = frozenset({"bges", "bges_envs", "gymnasium", "importlib", "ray"})


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
    """A run that could not continue; what it had finished is on disk."""


class UserCodeError(RunError):
    """A user's own code failed: whose and how in the first line, below it the part of the traceback that is theirs."""


def blamed(whose: str, error: Exception) -> BgesError:
    """What to raise, `from None`, for an error that came out of a user's code; an error of ours stays as it is."""
    if isinstance(error, BgesError):
        return error
    told = traceback.format_exception_only(error)
    first = f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")
    lines = [f"{whose}: {first}\n", "Traceback (most recent call last):\n", *_own_frames(error).format(), *told]
    return UserCodeError("".join(lines).rstrip())


def _own_frames(error: Exception) -> traceback.StackSummary:
    """Those of the user's files; where there are none, the last few."""
    raised: BaseException | None = error
    # Gymnasium raises some errors again: the user's frames are in the one before.
    while raised is not None:
        walk = traceback.walk_tb(raised.__traceback__)
        own = [(f, line) for f, line in walk if f.f_globals.get("__name__", "").partition(".")[0] not in MACHINERY]
        if own:
            return traceback.StackSummary.extract(iter(own))
        raised = raised.__cause__ or raised.__context__
    return traceback.extract_tb(error.__traceback__, limit=-3)


@contextmanager
def user_code(whose: str) -> Iterator[None]:
    """Around calls of a user's code: what it raises is `blamed` on it."""
    try:
        yield
    except Exception as error:
        raise blamed(whose, error) from None


class Interrupted(BgesError):
    """Asked to stop; finished work was written, and the message says how to resume."""
