"""Serves functions of this process on loopback as models, so that the ordinary commands can ask them.

The run is in another process, as for every command, and its requests to a function come back to this one. Nobody else
can ask, since each request needs the key that the server was made with.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Annotate = Callable[[str, str], object]
"""Takes a text and a prompt and gives the answer; None is no answer."""
Paraphrase = Callable[[str, int, float | None], Sequence[str]]
"""Takes an instruction, a number and a paraphrase temperature and gives so many rewordings, or fewer."""

ANNOTATOR, PARAPHRASER = "annotator", "paraphraser"
KEY = "PROMPTAUDIT_CALLABLE_KEY"
INSTRUCTIONS = "{n}\n{freedom}\n{instruction}"
"""The prompt in a rephraser card for the paraphraser."""
MOST_BYTES = 32_000_000  # of one request
_TEMPERATURE = re.compile(r" reword at (\S+)\.$")


class Callables(ThreadingHTTPServer):
    """Serves an annotator, and a paraphraser where there is one.

    Attributes:
        failed: the first exception that a function raised. The request that caused it gets status 503, after which it
            comes again, and `on_failure` is called.
    """

    daemon_threads = True

    def __init__(self, annotate: Annotate, paraphrase: Paraphrase | None, *, has_prompt: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = secrets.token_hex(32)
        self.failed: Exception | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self._annotate, self._paraphrase, self._has_prompt = annotate, paraphrase, has_prompt

    @property
    def environment(self) -> dict[str, str]:
        """Names the variables by which a command finds this server."""
        return {"OPENAI_BASE_URL": f"http://127.0.0.1:{self.server_address[1]}/v1", KEY: self.key}

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores the error: a client went away, or sent what is no HTTP."""

    def answer(self, model: str, first: str, last: str) -> str | None:
        """Calls the function of a model with the first and last message. None where it raised, now or before."""
        if self.failed is not None:
            return None
        try:
            if model == PARAPHRASER and self._paraphrase is not None:
                n, freedom, instruction = first.split("\n", 2)
                temperature = _TEMPERATURE.search(freedom)
                found = self._paraphrase(instruction, int(n), None if temperature is None else float(temperature[1]))
                return json.dumps([str(each) for each in found])
            said = self._annotate(last, first if self._has_prompt else "")
        except Exception as error:  # noqa: BLE001 - whatever a person's function raises is raised again by who called
            self.failed = error
            self.on_failure()
            return None
        return "" if said is None else str(said)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: a second one would wait 40 ms for the first one's receipt
    timeout = 60  # of a client that says nothing
    server: Callables

    def do_POST(self) -> None:
        refused = self._refused()
        if refused is not None:  # its body is not read, so nothing more can be on this connection
            self.close_connection = True
            self._refuse(*refused)
            return
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = body["model"], body["messages"][0]["content"], body["messages"][-1]["content"]
        except (ValueError, LookupError, TypeError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, "no chat completion is asked for")
            return
        answer = self.server.answer(*texts)
        if answer is None:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "the function raised an exception")
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        self._reply(HTTPStatus.OK, {"object": "chat.completion", "choices": [choice]})

    def _refused(self) -> tuple[HTTPStatus, str] | None:
        key, length = self.headers.get("Authorization", ""), self.headers.get("Content-Length")
        if not secrets.compare_digest(key.encode("utf-8", "replace"), f"Bearer {self.server.key}".encode()):
            return HTTPStatus.UNAUTHORIZED, "another key is wanted"
        if length is None or "Transfer-Encoding" in self.headers:
            return HTTPStatus.LENGTH_REQUIRED, "a Content-Length is wanted"
        if not (length.isascii() and length.isdecimal()):
            return HTTPStatus.BAD_REQUEST, "the Content-Length is no number"
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MOST_BYTES:,} bytes are read"
        return None

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._reply(status, {"error": {"message": message}})

    def _reply(self, status: HTTPStatus, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Logs nothing: requests are private."""


@contextmanager
def serving(annotate: Annotate, paraphrase: Paraphrase | None, *, has_prompt: bool) -> Iterator[Callables]:
    """Yields a server of these functions. It ends with the block."""
    with Callables(annotate, paraphrase, has_prompt=has_prompt) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
