"""What ends the asking of a model, and what the others do then."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from promptaudit.engines import Answer, Attempt
from promptaudit.engines.openai_api.completions import read_completion
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.engines.pacing import retry
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from tests.support.engine_requests import request_of
from tests.support.loopback import completion_of
from tests.support.openai_server import RunningServer, running_server


def card(server: RunningServer, **limits: Any) -> ModelCard:
    return ModelCard(engine="openai_api", model="m", base_url=server.base_url, limits=limits)


def test_a_stop_brings_the_tries_that_led_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)

    async def run(server: RunningServer) -> None:
        engine = OpenAIEngine(card(server))
        try:
            await engine.answer(request_of())
        finally:
            await engine.close()

    with running_server(first={"status_500": 2, "wrong_key": 1}) as server, pytest.raises(EngineError) as caught:
        asyncio.run(run(server))
    tries = [attempt for attempt in caught.value.attempts if isinstance(attempt, Attempt)]
    assert [attempt.http_status for attempt in tries] == [500, 500, 401]
    assert tries[0].waited_ms > 0
    assert tries[2].waited_ms == 0


def test_a_wrong_key_ends_the_waiting_of_all_within_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 30.0)

    async def run(server: RunningServer) -> tuple[float, list[Answer]]:
        engine = OpenAIEngine(card(server, max_connections=8))
        waiting = [asyncio.create_task(engine.answer(request_of(f"<<status_500>> {index}"))) for index in range(32)]
        while server.counters()["requests"] < 32:  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.05)
        started = time.monotonic()
        with pytest.raises(EngineError, match="its key is read from OPENAI_API_KEY"):
            await engine.answer(request_of("<<wrong_key>>"))
        answers = await asyncio.gather(*waiting)
        with pytest.raises(EngineError, match="its key is read from OPENAI_API_KEY"):
            await engine.answer(request_of())
        await engine.close()
        return time.monotonic() - started, answers

    with running_server() as server:
        took, answers = asyncio.run(run(server))
        assert server.counters()["requests"] == 33
    assert took < 1
    assert not any(answer.is_landed for answer in answers)
    assert [len(answer.attempts) for answer in answers] == [1] * 32


def asked(message: dict[str, Any], **choice: Any) -> Answer:
    body = completion_of("")
    body["choices"][0] = {"message": message, "finish_reason": "stop", **choice}
    answer = read_completion(json.dumps(body).encode(), "id", (), ())
    assert isinstance(answer, Answer)
    return answer


def called(arguments: object) -> dict[str, Any]:
    return {
        "content": None,
        "tool_calls": [{"type": "function", "function": {"name": "answer", "arguments": arguments}}],
    }


def test_the_arguments_of_a_function_are_the_completion_verbatim() -> None:
    assert asked(called('{"label":  "number"}\n')).completion == '{"label":  "number"}\n'
    assert asked({**called("{}"), "content": "number"}).completion == "number"


@pytest.mark.parametrize(
    "calls", [None, [], [7], [{}], [{"function": 7}], [{"function": {"arguments": {"a": 1}}}], "x"]
)
def test_odd_function_calls_are_no_completion(calls: object) -> None:
    assert asked({"content": "", "tool_calls": calls}).completion == ""


def test_reasoning_is_kept_apart_and_think_blocks_are_not_touched() -> None:
    answer = asked({"content": "<think>hm</think>\nnumber", "reasoning": "because"})
    assert (answer.completion, answer.reasoning) == ("<think>hm</think>\nnumber", "because")
    assert asked({"content": "number", "reasoning_content": 7}).reasoning is None


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": "x"}, {"content": [7]}, 7])
def test_odd_log_probabilities_are_none(logprobs: object) -> None:
    assert asked({"content": "number"}, logprobs=logprobs).token_logprobs is None


def test_log_probabilities_are_compact_json() -> None:
    tokens = [
        {
            "token": "num",
            "logprob": -0.5,
            "bytes": [1],
            "top_logprobs": [{"token": "num", "logprob": -0.5, "bytes": [1]}],
        },
        {"token": "\ud800", "logprob": float("-inf"), "top_logprobs": None},
    ]
    text = asked({"content": "number"}, logprobs={"content": tokens}).token_logprobs
    first = '{"token":"num","logprob":-0.5,"top_logprobs":[{"token":"num","logprob":-0.5}]}'
    assert text == f'[{first},{{"token":"\\ud800","logprob":null,"top_logprobs":[]}}]'


def test_log_probabilities_of_a_completion_with_a_key_in_it_are_left_out() -> None:
    body = completion_of("number some-key-of-mine")
    body["choices"][0]["logprobs"] = {"content": [{"token": "some-", "logprob": -1}]}
    answer = read_completion(json.dumps(body).encode(), "id", ("some-key-of-mine",), ())
    assert isinstance(answer, Answer)
    assert (answer.completion, answer.token_logprobs) == ("number [hidden]", None)
