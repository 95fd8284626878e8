"""A real HTTP server on loopback that takes webhooks and heartbeats, in threads of the test, and misbehaves by path.

`/ok…` answers 200, `/status/500…` with that status, `/slow…` a byte now and then without end, `/redirect…` points to
`/ok/moved`, `/garbage…` answers no HTTP, `/endless…` never stops answering, `/close…` answers nothing. Every request is kept
before it is answered.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.loopback import QuietHandler, served_in_threads


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RunningWebhooks:
    """A started server as a test sees it."""

    port: int
    requests: list[Request] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def target(self, path: str, token: str = "") -> str:
        """The address of apprise that posts JSON to a path, with a token as its password."""
        return f"json://{f'auditor:{token}@' if token else ''}127.0.0.1:{self.port}{path}"

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def of(self, path: str) -> list[Request]:
        """The requests to one path, oldest first."""
        return [request for request in self.requests if request.path == path]


@contextlib.contextmanager
def running_webhooks() -> Iterator[RunningWebhooks]:
    """Starts a server on a free port and ends it, its slow answers too."""

    class Handler(QuietHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            running.requests.append(Request(self.command, self.path, dict(self.headers), body))
            _, behaviour, *rest = self.path.split("/")
            if behaviour == "slow":  # no single read takes long
                self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
                while not running.is_over.wait(0.3):
                    self.wfile.write(b"x")
            elif behaviour == "garbage":
                self.wfile.write(b"\x00\xff garbage\r\n\r\n" * 10)
            elif behaviour == "close":
                self.close_connection = True
            elif behaviour == "redirect":
                self.send_response(307)
                self.send_header("Location", running.url("/ok/moved"))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif behaviour == "endless":
                self.send_response(200)
                self.end_headers()
                while not running.is_over.is_set():
                    self.wfile.write(b"x" * 1_000_000)
            else:
                self.send_response(int(rest[0]) if behaviour == "status" else 200)
                # what came in, so that a client which keeps or logs answers would tell its own secrets
                echo = json.dumps({"headers": dict(self.headers), "path": self.path}).encode()
                self.send_header("Content-Length", str(len(echo)))
                self.end_headers()
                self.wfile.write(echo)

    with served_in_threads(Handler) as port:
        running = RunningWebhooks(port)
        try:
            yield running
        finally:
            running.is_over.set()
