"""A server that a run started is asked as many at once as it computes, however slow; another's only while that gains."""

from __future__ import annotations

import asyncio
import math
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
from tests.support.full_server import full_server
from tests.support.llama import card
from tests.support.serving import asked

SLOTS, N_REQUESTS = 4, 60


@pytest.mark.parametrize("is_started", [True, False])
def test_a_server_of_our_own_never_has_fewer_requests_than_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_started: bool
) -> None:
    # the worst that pacing can see: every answer is slow, more at once gain nothing, and fewer lose nothing
    for name, value in {"SLOW_SHARE": 0.0, "TOO_SLOW_SHARE": math.inf, "LOSS": 0.0, "GAIN": math.inf}.items():
        monkeypatch.setattr(in_flight, name, value)
    patience_s = 30 if is_started else 4
    with full_server(N_REQUESTS, SLOTS, at_first=2 * SLOTS, patience_s=patience_s) as server:

        async def start(*_: object) -> ServerProcess:
            return cast("ServerProcess", server)

        monkeypatch.setattr(local_engine, "SERVERS", Servers(start))
        (tmp_path / "m.gguf").write_bytes(b"GGUF")
        fields = {"gguf": "m.gguf", "llama_cpp": {"slots": SLOTS}} if is_started else {"base_url": server.base_url}
        made = card(**{"package": None, "llama_cpp": None, "limits": {"max_connections": 2 * SLOTS}} | fields)
        engine = LlamaServerEngine(Entry(made, tmp_path, "models/mine.yml", {}), made)
        answers = asyncio.run(asked(engine, *(request_of() for _ in range(N_REQUESTS))))
    assert [answer.completion for answer in answers] == ["number"] * N_REQUESTS
    assert (server.peak, server.is_starved) == (2 * SLOTS, not is_started)


def test_silence_leaves_a_server_its_slots() -> None:
    most = InFlight(64, 60.0, 24)
    assert most.size == 24
    for number in range(4):
        most.timed_out(100.0 * number, 100.0 * number + 60)
        most.answered(100.0 * number + 61, 100.0 * number + 90)
    assert most.size == 24
