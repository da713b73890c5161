"""Events for TensorBoard."""

import math
import time
from pathlib import Path

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.proto.summary_pb2 import Summary


class TensorBoardFile:
    """An event file of one session, written by the caller's thread, so that a full disk is an error and not a silence.

    TensorBoard forgets what earlier sessions said of `first_step` and later.
    """

    def __init__(self, folder: Path, *, first_step: int) -> None:
        folder.mkdir(exist_ok=True)
        self._writer = EventsWriter(str(folder / "events"), f".{first_step}")
        start = SessionLog(status=SessionLog.START)
        self._writer.write_event(Event(wall_time=time.time(), step=first_step, session_log=start))

    def add(self, step: int, row: dict[str, float]) -> None:
        finite = {name: value for name, value in row.items() if name != "iteration" and math.isfinite(value)}
        values = [Summary.Value(tag=f"bges/{name}", simple_value=value) for name, value in finite.items()]
        self._writer.write_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
