"""No key reaches an answer, an attempt, an exception or a log record, whatever an endpoint does with it."""

from __future__ import annotations

import asyncio
import base64
import logging
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from promptaudit.engines import Answer
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.engines.pacing import retry
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from tests.support.engine_requests import request_of
from tests.support.openai_server import RunningServer

KEYS = ("sk-proj-AbCdEf0123456789AbCdEf0123456789", "k.3+y", "a-plain-but-long-pass(word)*")
FAULTS = (
    "wrong_key",
    "echo_500",
    "echo_reason",
    "status_500",
    "status_429",
    "context_length",
    "unknown_model",
    "insufficient_quota",
    "redirect",
    "truncated",
    "html",
    "reset",
    "cut",
    "key_in_completion",
    "key_in_reason",
    "refusal",
)


def forms(key: str) -> tuple[str, ...]:
    return (key, quote(key, safe=""), base64.b64encode(key.encode()).decode())


def everything_of(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield from (repr(error), str(error), repr(vars(error)), *traceback.format_exception(error))
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_key_gets_out(
    server: RunningServer, key: str, fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)
    caplog.set_level(logging.DEBUG)
    limits = {"max_attempts": 2}
    card = ModelCard(engine="openai_api", model="m", base_url=server.base_url, api_key_env="MY_KEY", limits=limits)

    async def run() -> Answer:
        engine = OpenAIEngine(card)
        try:
            return await engine.answer(request_of(f"<<{fault}>>"))
        finally:
            await engine.close()

    shown = []
    try:
        shown.append(repr(asyncio.run(run(), debug=True)))
    except EngineError as error:
        shown += everything_of(error)
    shown += [record.getMessage() + repr(vars(record)) for record in caplog.records]
    assert server.requests()[0]["headers"]["Authorization"] == f"Bearer {key}"
    assert shown
    for text in shown:
        assert not [form for form in forms(key) if form in text]


def test_a_completion_loses_the_key_and_nothing_else(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEYS[0])
    answer = asyncio.run(_ask(server, "<<key_in_completion>>"))
    assert answer.completion == "number [hidden]"
    assert answer.reasoning == "the key is [hidden]"
    assert answer.served_model == "m [hidden]"


def test_a_key_that_stands_in_the_prompt_is_no_secret_there(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "number")  # a stopgap of someone whose server takes any key
    answer = asyncio.run(_ask(server, "<<parts>>"))
    assert answer.completion == "number"


@pytest.mark.parametrize("key", ["with\nnewline", "with\ttab", "ключ", "with\x7fdelete"])
def test_a_key_no_header_carries_is_refused_without_showing_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(EngineError, match="OPENAI_API_KEY holds characters no header can carry") as caught:
        OpenAIEngine(ModelCard(engine="openai_api", model="m", base_url="http://127.0.0.1:1/v1"))
    assert key not in str(caught.value)


def test_credentials_in_a_url_are_refused_without_showing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter22@127.0.0.1:1/v1")
    with pytest.raises(EngineError, match="base_url holds credentials") as caught:
        OpenAIEngine(ModelCard(engine="openai_api", model="m"))
    assert not [text for text in everything_of(caught.value) if "hunter22" in text and "base_url=" not in text]


async def _ask(server: RunningServer, text: str) -> Answer:
    engine = OpenAIEngine(ModelCard(engine="openai_api", model="m", base_url=server.base_url))
    try:
        return await engine.answer(request_of(text))
    finally:
        await engine.close()
