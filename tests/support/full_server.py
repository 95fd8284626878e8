"""A server on loopback that answers none while a place of its is empty that one more request could fill."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from tests.support.loopback import QuietHandler, completion_of, last_user, served_in_threads


class FullServer:
    """What the server knows of its `n_requests`, and whether who asks left it places empty."""

    key = "k"  # as of a server that a run started

    def __init__(self, n_requests: int, places: int, *, at_first: int = 1, patience_s: float = 30) -> None:
        self.n_requests, self.places, self.at_first, self.patience_s = n_requests, places, at_first, patience_s
        self.base_url, self.is_starved = "", False
        self.n_open = self.n_answered = self.peak = 0
        self.prompts: list[str] = []
        self.changed = threading.Condition()

    def wait_until_full(self, prompt: str) -> None:
        """Waits until every place is taken, before the first answer `at_first` of them, and at the end what is left."""
        with self.changed:
            self.prompts.append(prompt)
            self.n_open += 1
            self.peak = max(self.peak, self.n_open)
            self.changed.notify_all()
            is_full = self.changed.wait_for(lambda: self.is_starved or self.n_open >= self._wanted(), self.patience_s)
            self.is_starved = self.is_starved or not is_full
            self.n_open, self.n_answered = self.n_open - 1, self.n_answered + 1
            self.changed.notify_all()

    def _wanted(self) -> int:
        return min(self.places if self.n_answered else self.at_first, self.n_requests - self.n_answered)

    def ended(self) -> None:
        """Runs on, as a server that a run started."""

    async def close(self) -> None:
        """Ends with the block."""


@contextlib.contextmanager
def full_server(n_requests: int, places: int, *, at_first: int = 1, patience_s: float = 30) -> Iterator[FullServer]:
    """Serves the model `smol`, which says `number`; once a place stayed empty for `patience_s` it is starved, and lax."""
    served = FullServer(n_requests, places, at_first=at_first, patience_s=patience_s)

    class Handler(QuietHandler):
        def answer(self) -> None:
            if self.path.endswith("/chat/completions"):
                served.wait_until_full(last_user(self.asked()))
                self.send_json(completion_of("number"))
            else:
                self.send_json({"data": [{"id": "smol"}]})

    with served_in_threads(Handler) as port:
        served.base_url = f"http://127.0.0.1:{port}/v1"
        yield served
