"""What the servers of tests on loopback share: their processes and threads, and what the chat completions API answers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiohttp import web

ROOT = Path(__file__).parents[2]
LABELS = ("number", "location", "person", "description", "entity", "abbreviation")


@dataclass(frozen=True)
class ChildServer:
    """A server in a process of its own, as a test sees it."""

    base_url: str
    process: subprocess.Popen[str]

    def json(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Returns what the server answers at a path beside `/v1`."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base_url.removesuffix("v1") + path, data, method=method)  # noqa: S310
        with opener.open(request, timeout=30) as response:
            return json.load(response)


@contextlib.contextmanager
def child_process(module: str, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Runs a server's module, whose first line says its base URL; yields that and the process, which ends with the block."""
    command = [sys.executable, "-m", module, *options]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            msg = f"the server did not start; exit code {process.wait(10)}"
            raise RuntimeError(msg)
        yield json.loads(line)["base_url"], process
    finally:
        process.kill()
        process.communicate()


def say_base_url(port: int) -> None:
    """Prints the line that `child_process` waits for."""
    print(json.dumps({"base_url": f"http://127.0.0.1:{port}/v1"}), flush=True)  # noqa: T201


class QuietHandler(BaseHTTPRequestHandler):
    """Has `answer` answer a request of any method, without a word on stderr."""

    def answer(self) -> None:
        """Answers."""

    def asked(self) -> Any:
        """Returns the JSON that came with the request."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")

    def send_json(self, content: Any) -> None:
        """Answers with JSON."""
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class _Threads(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away is part of the test."""


@contextlib.contextmanager
def served_in_threads(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serves on a free port in threads of the test; yields the port, and ends with the block."""
    server = _Threads(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def unused_port() -> int:
    """Returns a port of loopback where nobody answers."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


def fault_of(first: Mapping[str, int], rates: Mapping[str, float], n_before: int, draw: float) -> str | None:
    """Returns the fault that strikes a request after `n_before` tries of it; `draw` in [0, 1) decides by the rates."""
    for name, count in first.items():
        if n_before < count:
            return name
        n_before -= count
    for name, rate in rates.items():
        draw -= rate
        if draw < 0:
            return name
    return None


def last_user(body: Mapping[str, Any]) -> str:
    """Returns the last user message of a request."""
    texts = [str(message.get("content")) for message in body["messages"] if message.get("role") == "user"]
    return texts[-1] if texts else ""


def hash_of(text: str) -> int:
    """Returns the first eight bytes of a text's sha256 as a number."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def completion_of(
    content: object, *, refusal: str | None = None, finish_reason: str = "stop", **more: Any
) -> dict[str, Any]:
    """Returns the body of a chat completion."""
    message = {"role": "assistant", "content": content, "refusal": refusal, **more}
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": "loopback-model-1",
        "system_fingerprint": "fp_loopback",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }


def error_of(
    status: int, message: str, code: str | None, headers: dict[str, str] | None = None, param: str | None = None
) -> web.Response:
    """Returns an error as OpenAI's API sends it."""
    error = {"message": message, "type": "error", "param": param, "code": code}
    return web.json_response({"error": error}, status=status, headers=headers)
