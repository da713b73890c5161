"""Argument checks, in one place: each raises `InputError` with the name, the value and what was expected."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bges.errors import InputError


def check_array(
    name: str, value: Any, shape: tuple[int | None, ...], dtype: type[np.generic] = np.float64
) -> NDArray[Any]:
    """`value` as a finite array of `dtype` whose shape matches; None in `shape` stands for any size."""
    try:
        array = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from None
    if array.ndim != len(shape) or any(w is not None and w != s for w, s in zip(shape, array.shape, strict=True)):
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise InputError(f"{name} has shape {array.shape}, expected {wanted}")
    check_finite(name, array)
    return array


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse NaN and infinity, naming the first place."""
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name} has a non-finite value ({array[place]}) at {place}")


def check_positive(name: str, value: float, *, zero: bool = False) -> float:
    """`value` if it is finite and > 0 (or >= 0 where zero is allowed)."""
    if not np.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise InputError(f"{name} is {value}, expected a number {'>= 0' if zero else '> 0'}")
    return value


def check_whole(name: str, value: int, *, least: int = 1) -> int:
    """`value` if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {value!r}, expected a whole number >= {least}")
    return int(value)


def check_choice(name: str, value: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`; otherwise an error that names the nearest and lists them all."""
    names = sorted(allowed)
    if value not in names:
        near = get_close_matches(str(value), names, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"{name} is {value!r}{hint}, expected one of: {', '.join(names)}")
    return value
