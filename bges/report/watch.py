"""The report of a running run, served on loopback."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bges.errors import InputError
from bges.report.material import ANY_FAILURE, Material
from bges.report.page import report_page

HOST = "127.0.0.1"
# Drawing takes the time of the run's own machine.
SECONDS_BETWEEN_PAGES = 10.0


class LivePage:
    """The newest page, rendered again on request if the run has new data, but not too often."""

    def __init__(self, run: Path, seconds: float) -> None:
        self._run, self._seconds = run, seconds
        self._lock = threading.Lock()
        self._made: tuple[str, bytes] | None = None
        self._when = 0.0

    def stamp(self) -> str:
        """Changes when there is reason for a new page: the run's files have changed since the last was made."""
        if self._made is not None and time.monotonic() - self._when < self._seconds:
            return self._made[0]
        newest = 0
        for name in ("config.yaml", "metrics.parquet", "behaviors", "checkpoints"):
            try:
                newest = max(newest, (self._run / name).stat().st_mtime_ns)
            except OSError:
                continue
        return str(newest)

    def content(self) -> bytes:
        with self._lock:
            stamp = self.stamp()
            if self._made is None or self._made[0] != stamp:
                self._made = stamp, report_page([self._run], clip=False, live=True).encode()
                self._when = time.monotonic()
            return self._made[1]


def make_server(run: Path, port: int, *, seconds: float = SECONDS_BETWEEN_PAGES) -> ThreadingHTTPServer:
    """A server on loopback, not yet serving; port 0 takes any."""
    Material.read(run)
    page = LivePage(run, seconds)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.headers.get("Host", "").rpartition(":")[0]
            if name not in (HOST, "localhost"):
                # Another name for this machine is another site's trick.
                self._answer(403, "text/plain", b"only 127.0.0.1 and localhost\n")
            elif self.path == "/":
                try:
                    self._answer(200, "text/html; charset=utf-8", page.content())
                except ANY_FAILURE as error:
                    self._answer(500, "text/plain; charset=utf-8", f"{error}\n".encode())
            elif self.path == "/stamp":
                self._answer(200, "text/plain", page.stamp().encode())
            elif self.path == "/favicon.ico":
                self._answer(204, "image/x-icon", b"")
            else:
                self._answer(404, "text/plain", b"not found\n")

        def _answer(self, code: int, kind: str, content: bytes) -> None:
            self.send_response(code)
            headers = {"Content-Type": kind, "Content-Length": len(content), "Cache-Control": "no-store"}
            for header, value in headers.items():
                self.send_header(header, str(value))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        raise InputError(f"--port is {port}: {getattr(error, 'strerror', None) or error}") from None
    server.daemon_threads = True
    return server
