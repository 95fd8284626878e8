"""A provider on loopback, in threads of the test, whose model is known and may change from one night to the next.

It answers `What is number 7?` with the seventh label as often as its version knows it: `skill` of the easy questions, less
of every third; each answer is drawn anew, by which ask it is of the same prompt and seed. A prompt that has it answer in haste
costs `clumsy` of that. It can be told to keep its clients waiting from a number of answers on, so that a test ends them at a
known place.
"""

from __future__ import annotations

import contextlib
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.loopback import LABELS, QuietHandler, completion_of, served_in_threads

SEED = 11  # one under which quiet nights are quiet: by chance alone one in twenty is told to have churned
HARD = 0.35  # less of every third question


@dataclass
class Provider:
    """A started provider; what a test sets holds from the next answer on."""

    base_url: str
    served_model: str = "small-2026-01-01"
    skill: float = 0.95
    clumsy: float = 0.3
    n_requests: int = 0
    n_asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    answers_at_most: int | None = None
    n_waiting: int = 0
    hung_up: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def silent_from(self, n_requests: int) -> Iterator[None]:
        """Keeps whoever asks more than so many times in all waiting, and hangs up on them at the end of the block."""
        self.answers_at_most, self.hung_up = n_requests, threading.Event()
        try:
            yield
        finally:
            self.answers_at_most = None
            self.hung_up.set()

    def admit(self) -> bool:
        """Whether a request is answered, and counted; one that is not has waited until its client is hung up on."""
        with self.lock:
            hung_up = self.hung_up
            if self.answers_at_most is None or self.n_requests < self.answers_at_most:
                self.n_requests += 1
                return True
            self.n_waiting += 1
        hung_up.wait()
        with self.lock:
            self.n_waiting -= 1
        return False

    def answer(self, prompt: str, seed: int | None = None) -> str:
        """A label, drawn anew by which ask of the same prompt it is, so that the order of requests at once changes nothing."""
        asked = prompt if seed is None else f"{seed} {prompt}"
        number = int((re.findall(r"What is number (\d+)\?", prompt) or ["0"])[-1])
        knows = self.skill - HARD * (number % 3 == 0) - self.clumsy * ("haste" in prompt.casefold())
        with self.lock:
            self.n_asked[asked] += 1
            dice = random.Random(f"{SEED} {self.n_asked[asked]} {asked}")
        is_right, other = dice.random() < knows, dice.randrange(1, len(LABELS))
        return LABELS[(number + (0 if is_right else other)) % len(LABELS)]


@contextlib.contextmanager
def running_provider() -> Iterator[Provider]:
    """Starts a provider on a free port and ends it."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            asked = self.asked()
            if not provider.admit():
                self.close_connection = True
                return
            content = provider.answer(asked["messages"][-1]["content"], asked.get("seed"))
            model = provider.served_model
            self.send_json({**completion_of(content), "model": model})

    with served_in_threads(Handler) as port:
        provider = Provider(f"http://127.0.0.1:{port}/v1")
        yield provider
