"""A server that answers every chat completion with the same bytes, so that a benchmark measures its client and not this.

    python -m tests.support.fast_server --latency-s 0.05

prints one line, `{"base_url": "http://127.0.0.1:40551/v1"}`, and serves until stdin ends. It speaks as much HTTP/1.1 as
clients that keep connections open and send a Content-Length need: 20,000 requests/s on one core, where aiohttp's server
does about 5,000. `GET /counters` tells how many were answered, and the most that were in flight at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import cast

from tests.support.loopback import child_process, completion_of, say_base_url
from tests.support.openai_server import RunningServer

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: req-1\r\nContent-Length: "


def _whole(body: bytes) -> bytes:
    return _HEAD + str(len(body)).encode() + b"\r\n\r\n" + body


class Counts:
    """What the server has seen."""

    def __init__(self) -> None:
        self.requests = self.in_flight = self.peak = 0

    def response(self) -> bytes:
        response = {"requests": self.requests, "peak_in_flight": self.peak, "by_outcome": {"answered": self.requests}}
        return _whole(json.dumps(response).encode())


class Connection(asyncio.Protocol):
    """One client's connection; requests on it are answered one after the other."""

    def __init__(self, counts: Counts, latency_s: float) -> None:
        self.counts, self.latency_s = counts, latency_s
        self.waiting = b""
        self.answer = _whole(json.dumps(completion_of("number")).encode())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while True:
            head, end, rest = self.waiting.partition(b"\r\n\r\n")
            if not end:
                return
            _, name, length = head.lower().partition(b"content-length:")
            size = int(length.split(b"\r\n", 1)[0]) if name else 0
            if len(rest) < size:
                return
            self.waiting = rest[size:]
            if head.startswith(b"GET "):
                self.transport.write(self.counts.response())
                continue
            self.counts.requests += 1
            self.counts.in_flight += 1
            self.counts.peak = max(self.counts.peak, self.counts.in_flight)
            if self.latency_s:
                asyncio.get_running_loop().call_later(self.latency_s, self._send)
            else:
                self._send()

    def _send(self) -> None:
        self.counts.in_flight -= 1
        self.transport.write(self.answer)


@contextlib.contextmanager
def running_fast_server(latency_s: float = 0.0) -> Iterator[RunningServer]:
    """A server in its own process on a free port of 127.0.0.1; ends with the block."""
    with child_process(__name__, "--latency-s", str(latency_s)) as (base_url, process):
        yield RunningServer(base_url, process)


async def _serve(latency_s: float) -> None:
    counts = Counts()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(counts, latency_s), "127.0.0.1", 0, backlog=4096
    )
    say_base_url(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Starts the server from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--latency-s", type=float, default=0.0, help="seconds until an answer is sent")
    import uvloop

    uvloop.run(_serve(parser.parse_args().latency_s))


if __name__ == "__main__":
    main()
