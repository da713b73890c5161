"""Signals that ask a run to stop, noted instead of fatal."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noted_signals() -> Iterator[Callable[[], bool]]:
    """Note SIGINT and SIGTERM instead of dying by them; a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may take signals: whoever runs that one decides.
        yield lambda: False
        return
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
