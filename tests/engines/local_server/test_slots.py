"""A server that a run started is asked as many at once as it computes, however slow; another's only while that gains."""

from __future__ import annotations

import asyncio
import math
import threading
from pathlib import Path
from typing import cast

import pytest

from promptaudit.engines.llama_cpp.engine import LlamaServerEngine
from promptaudit.engines.local_server import engine as local_engine
from promptaudit.engines.local_server.process import ServerProcess
from promptaudit.engines.local_server.shared import Servers
from promptaudit.engines.pacing import in_flight
from promptaudit.engines.pacing.in_flight import InFlight
from promptaudit.registry.registry import Entry
from tests.support.engine_requests import request_of
from tests.support.llama import card
from tests.support.loopback import QuietHandler, completion_of, served_in_threads
from tests.support.serving import asked

SLOTS, N_REQUESTS = 4, 60


class Started:
    """Stands in for the process of a server in threads of the test."""

    key = "k"

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def ended(self) -> None:
        """Runs on."""

    async def close(self) -> None:
        """Ends with the test."""


@pytest.mark.parametrize("is_started", [True, False])
def test_a_server_of_our_own_never_has_fewer_requests_than_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_started: bool
) -> None:
    # the worst that pacing can see: every answer is slow, more at once gain nothing, and fewer lose nothing
    for name, value in {"SLOW_SHARE": 0.0, "TOO_SLOW_SHARE": math.inf, "LOSS": 0.0, "GAIN": math.inf}.items():
        monkeypatch.setattr(in_flight, name, value)
    changed, n_open, n_answered, peak, is_starved = threading.Condition(), 0, 0, 0, False

    class Handler(QuietHandler):
        def answer(self) -> None:
            nonlocal n_open, n_answered, peak, is_starved
            if not self.path.endswith("/chat/completions"):
                self.send_json({"data": [{"id": "smol"}]})
                return
            self.asked()
            with changed:
                n_open += 1
                peak = max(peak, n_open)
                changed.notify_all()
                # none is answered before as many are open as it begins with, nor later while a slot could be filled
                is_full = changed.wait_for(
                    lambda: is_starved or n_open >= min(SLOTS if n_answered else 2 * SLOTS, N_REQUESTS - n_answered),
                    30 if is_started else 0.5,
                )
                is_starved = is_starved or not is_full
                n_open, n_answered = n_open - 1, n_answered + 1
                changed.notify_all()
            self.send_json(completion_of("number"))

    async def start(*_: object) -> ServerProcess:
        return cast("ServerProcess", Started(base_url))

    with served_in_threads(Handler) as port:
        base_url = f"http://127.0.0.1:{port}/v1"
        monkeypatch.setattr(local_engine, "SERVERS", Servers(start))
        (tmp_path / "m.gguf").write_bytes(b"GGUF")
        fields = {"gguf": "m.gguf", "llama_cpp": {"slots": SLOTS}} if is_started else {"base_url": base_url}
        made = card(**{"package": None, "llama_cpp": None, "limits": {"max_connections": 2 * SLOTS}} | fields)
        engine = LlamaServerEngine(Entry(made, tmp_path, "models/mine.yml", {}), made)
        answers = asyncio.run(asked(engine, *(request_of() for _ in range(N_REQUESTS))))
    assert [answer.completion for answer in answers] == ["number"] * N_REQUESTS
    assert (peak, is_starved) == (2 * SLOTS, not is_started)


def test_silence_leaves_a_server_its_slots() -> None:
    most = InFlight(64, 60.0, 24)
    assert most.size == 24
    for number in range(4):
        most.timed_out(100.0 * number, 100.0 * number + 60)
        most.answered(100.0 * number + 61, 100.0 * number + 90)
    assert most.size == 24
