"""A server on loopback that knows what is right: it finds the question by its number and says the right label or sign."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.loopback import QuietHandler, completion_of, served_in_threads

Said = Callable[[dict[str, Any]], str]
"""Returns what is answered to a body."""


@dataclass
class KnowingServer:
    """The server as a test sees it: where it is, and every body that it was sent."""

    base_url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def answer_to(prompt: str, key: Mapping[str, str]) -> str:
    """The right label, or the sign before the right option, for the last number in the prompt that is known."""
    number = [each for each in re.findall(r"\w+", prompt) if each in key][-1]
    option = re.search(rf"(\w+)\W{{1,4}}{re.escape(key[number])}(?!\w)", prompt)
    return option[1] if key[number].startswith("option ") and option is not None else key[number]


@contextlib.contextmanager
def knowing_server(key: Mapping[str, str] | Said, latency_s: float = 0.0) -> Iterator[KnowingServer]:
    """Serves chat completions; `key` has a question's number to its label or the text of its right option, or answers a body."""
    server = KnowingServer()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.asked()
            with server.lock:
                server.bodies.append(body)
            time.sleep(latency_s)
            prompt = "\n".join(message["content"] for message in body["messages"] if message["role"] == "user")
            self.send_json(completion_of(key(body) if callable(key) else answer_to(prompt, key)))

    with served_in_threads(Handler) as port:
        server.base_url = f"http://127.0.0.1:{port}/v1"
        yield server
