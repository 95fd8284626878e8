"""The engine against a real server that limits, refuses, fails and goes away."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from promptaudit.cards.prices import cost_of
from promptaudit.engines import Answer, Request
from promptaudit.engines.openai_api.body import Body
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.engines.pacing import retry
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.model_cards import Price
from tests.support.engine_requests import LABELS, request_of
from tests.support.openai_server import RunningServer, running_server

SCHEMA = json.dumps({"type": "object", "properties": {"label": {"type": "string", "enum": list(LABELS)}}})

HEADERS = (("retry-after",), ("retry-after-ms",), ("x-ratelimit",))


def card(*urls: str, workers: int = 64, sampling: dict[str, Any] | None = None, **limits: Any) -> ModelCard:
    wanted = {"max_connections": workers} | limits
    return ModelCard(engine="openai_api", model="m", base_url=urls, limits=wanted, sampling=sampling or {})


def requests_of(n: int, **fields: Any) -> list[Request]:
    return [request_of(f"How many moons has planet {index}?", prediction_id=str(index), **fields) for index in range(n)]


async def ask_all(engine: OpenAIEngine, requests: Sequence[Request], seconds: float | None = None) -> list[Answer]:
    """The answers, by as many workers as the engine has connections; for at most so many seconds."""
    end = time.monotonic() + seconds if seconds else None
    waiting = iter(requests)
    answers: list[Answer] = []

    async def work() -> None:
        for request in waiting:
            answers.append(await engine.answer(request))
            if end is not None and time.monotonic() > end:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(engine.max_connections):
            group.create_task(work())
    await engine.close()
    return answers


def drive(made: ModelCard, requests: Sequence[Request], seconds: float | None = None) -> list[Answer]:
    async def run() -> list[Answer]:
        return await ask_all(OpenAIEngine(made), requests, seconds)

    return asyncio.run(run())


def is_once_each(answers: Sequence[Answer], n: int) -> bool:
    return len(answers) == n and all(answer.completion in LABELS for answer in answers)


async def _held(server: RunningServer, seconds: float, settle_s: float) -> tuple[float, float, str]:
    """(answers/s, share of rejections, what the engine says) once settled."""
    engine = OpenAIEngine(card(server.base_url))
    before: dict[str, Any] = {}
    said = ""

    async def look() -> None:
        nonlocal before, said
        await asyncio.sleep(settle_s)
        before = await asyncio.to_thread(server.counters)
        said = engine.pressure

    requests = requests_of(3_000)
    looking = asyncio.create_task(look())
    started = time.monotonic()
    await ask_all(engine, requests, seconds)
    await looking
    took = time.monotonic() - started - settle_s
    after = server.counters()["by_outcome"]
    answered = after["answered"] - before["by_outcome"]["answered"]
    rejected = after.get("over_limit", 0) - before["by_outcome"].get("over_limit", 0)
    return answered / took, rejected / (answered + rejected), said


@pytest.mark.slow
def test_a_limit_of_50_a_second_is_held() -> None:
    with running_server(requests_per_second=50, burst=10) as server:
        rate, share, said = asyncio.run(_held(server, 9, 4))
    assert rate >= 43  # 45 in the test of 30 s; a rejection or a late timer weighs more here
    assert share < 0.05
    assert said.startswith("throttled: ")
    assert "× 429" in said


@pytest.mark.soak
@pytest.mark.parametrize("kinds", [(), *HEADERS])
def test_a_limit_of_50_a_second_is_held_for_long(kinds: tuple[str, ...]) -> None:
    with running_server(requests_per_second=50, burst=25, rate_headers=kinds) as server:
        rate, share, _ = asyncio.run(_held(server, 30, 10 if kinds else 5))
    assert rate >= 45
    assert share < 0.05


@pytest.mark.parametrize("down_s", [1.5, pytest.param(20, marks=pytest.mark.soak)])
def test_a_server_that_is_down_for_a_while_is_waited_for(down_s: float) -> None:
    with running_server(down_after=200, down_for_s=down_s, latency_s=0.005) as server:
        started = time.monotonic()
        answers = drive(card(server.base_url, workers=32), requests_of(600))
        took = time.monotonic() - started
        counters = server.counters()
    assert is_once_each(answers, 600)
    assert counters["by_outcome"]["answered"] >= 600  # what was under way when it went down is asked again
    assert down_s <= took < down_s + 12
    # a look now and then, not 32 workers that use up their tries
    assert sum(len(answer.attempts) for answer in answers) < 32 * 3 + 20


def test_a_limited_and_a_dead_endpoint_do_not_slow_the_others() -> None:
    with (
        running_server(latency_s=0.01) as well,
        running_server(latency_s=0.01, requests_per_second=20, burst=5, rate_headers=("retry-after",)) as limited,
        running_server() as dead,
    ):
        dead.process.kill()
        dead.process.wait()
        started = time.monotonic()
        answers = drive(card(limited.base_url, dead.base_url, well.base_url, workers=32), requests_of(2000))
        took = time.monotonic() - started
        n_well, n_limited = (server.counters()["by_outcome"]["answered"] for server in (well, limited))
    assert is_once_each(answers, 2000)
    assert n_well + n_limited == 2000
    assert n_well > 1700
    assert took < 15


@pytest.mark.parametrize("shape", ["openai", "vllm"])
def test_refused_parameters_are_learnt_once_by_all(shape: str) -> None:
    with running_server(refuses=("max_tokens", "temperature"), refuses_as=shape, latency_s=0.02) as server:
        made = card(server.base_url, workers=32, sampling={"max_tokens": 16, "temperature": 0, "seed": 1})
        answers = drive(made, requests_of(320))
        counters = server.counters()
        last = server.requests()[-1]["body"]
    assert is_once_each(answers, 320)
    assert counters["by_outcome"]["answered"] == 320
    assert counters["by_outcome"]["refused"] <= 2 * 32
    assert {"max_tokens", "temperature"}.isdisjoint(last)
    assert last["max_completion_tokens"] == 16
    assert answers[-1].sampling == '{"max_completion_tokens": 16, "seed": 1}'
    refused = [attempt for answer in answers for attempt in answer.attempts]
    assert {attempt.http_status for attempt in refused} == {400}


def test_what_was_refused_is_said_at_the_end() -> None:
    async def run(server: RunningServer) -> OpenAIEngine:
        engine = OpenAIEngine(card(server.base_url, workers=4, sampling={"max_tokens": 16}))
        await ask_all(engine, requests_of(8))
        return engine

    with running_server(refuses=("max_tokens",)) as server:
        engine = asyncio.run(run(server))
    assert list(engine.notes) == ["takes no max_tokens: max_completion_tokens is sent instead"]
    assert engine.pressure == ""


@pytest.mark.parametrize("refuses", [(), ("tools",), ("tools", "response_format")])
def test_a_schema_is_sent_the_way_the_server_takes(refuses: tuple[str, ...]) -> None:
    with running_server(refuses=refuses) as server:
        answers = drive(card(server.base_url, workers=4), requests_of(12, answer_schema=SCHEMA))
        last = server.requests()[-1]["body"]
    assert len(answers) == 12
    assert all(json.loads(answer.completion or "")["label"] in LABELS for answer in answers)
    assert ("tools" in last) == (not refuses)
    assert ("response_format" in last) == (refuses == ("tools",))
    way = ("function", "json_schema", "text")[len(refuses)]
    assert json.loads(answers[-1].sampling or "")["structured_output"] == way


def test_a_schema_that_a_server_ignores_is_sent_in_the_next_way() -> None:
    async def run(server: RunningServer) -> tuple[list[Answer], list[str]]:
        engine = OpenAIEngine(card(server.base_url, workers=4))
        return await ask_all(engine, requests_of(12, answer_schema=SCHEMA)), list(engine.notes)

    with running_server(ignores=("tools",)) as server:
        answers, notes = asyncio.run(run(server))
        sent = server.requests()
    assert notes == ["its answers are no JSON where the schema is sent as function: it is sent as json_schema"]
    assert {json.loads(answer.sampling or "")["structured_output"] for answer in answers} == {"json_schema"}
    assert all(json.loads(answer.completion or "")["label"] in LABELS for answer in answers)
    # no more than were in flight are asked again; each of them says why, and what it cost counts
    again = [answer for answer in answers if answer.attempts]
    assert len(sent) - 12 == sum(len(answer.attempts) for answer in again) <= 4
    assert {attempt.error for answer in again for attempt in answer.attempts} == {"an answer that is no JSON object"}
    assert all(min(answer.discarded_tokens) > 0 for answer in again)
    price = Price(input_usd_per_mtok=1, output_usd_per_mtok=1)
    alone = replace(again[0], discarded_tokens=(0, 0))
    assert (cost_of(again[0], price) or 0) > (cost_of(alone, price) or 0) > 0
    # where the server need not show the schema to the model, the prompt does
    shown = [SCHEMA in request["body"]["messages"][-1]["content"] for request in sent]
    assert shown == ["tools" not in request["body"] for request in sent]


def test_a_model_that_never_answers_in_json_keeps_the_first_way_and_its_answers() -> None:
    with running_server(completion="A person, I think.") as server:
        answers = drive(card(server.base_url, workers=2), requests_of(12, answer_schema=SCHEMA))
        n_asked = server.counters()["requests"]
    assert {answer.completion for answer in answers} == {"A person, I think."}
    # two requests tried every way, and those in flight beside them
    assert n_asked <= 12 + 2 * 2 * 4
    assert [json.loads(answer.sampling or "")["structured_output"] for answer in answers][-6:] == ["function"] * 6


@pytest.mark.parametrize(
    ("completion", "finish_reason"),
    [
        ("", "length"),
        (" \n", "stop"),
        ('{ "label": "per', "length"),
        ("{\n", "length"),
        ("```json\n", "length"),
        ("<think>Who asks", "length"),
        ('<think>Who?</think>\n{"label": "person"}', "stop"),
        ('Here you are:\n```JSON\n{ "label": "person" }\n```', "stop"),
        ('["person"]', "stop"),
        ('\ufeff{"label": "person"}', "stop"),
    ],
)
def test_what_says_nothing_of_the_schema_changes_nothing(completion: str, finish_reason: str) -> None:
    body = Body(card("http://127.0.0.1:1/v1"))
    sent = body.of(request_of(answer_schema=SCHEMA))
    assert not body.is_ignored(sent, Answer(completion=completion, finish_reason=finish_reason))
    assert body.learnt == []


def test_an_answer_in_prose_after_one_that_followed_the_schema_is_the_models_own() -> None:
    body = Body(card("http://127.0.0.1:1/v1"))
    sent = body.of(request_of(answer_schema=SCHEMA))
    assert not body.is_ignored(sent, Answer(is_refused=True, completion="I cannot say."))
    assert not body.is_ignored(sent, Answer(completion='{"label": "per', finish_reason="length"))
    assert not body.is_ignored(sent, Answer(completion="It is a person."))
    assert body.learnt == []


def test_what_is_learnt_while_ways_are_tried_stays_when_none_helps() -> None:
    body = Body(card("http://127.0.0.1:1/v1", sampling={"max_tokens": 9}))
    request, prose = (
        request_of(answer_schema=SCHEMA),
        Answer(completion="A person, because the", finish_reason="length"),
    )
    assert body.is_ignored(body.of(request), prose)
    assert body.learn(400, {"code": "unsupported_parameter", "param": "max_tokens"}, body.of(request))
    assert body.is_ignored(body.of(request), prose)
    assert body.is_ignored(body.of(request), prose)
    assert not body.is_ignored(body.of(request), prose)
    assert (body.way, body.learnt) == ("function", ["takes no max_tokens: max_completion_tokens is sent instead"])


def test_a_way_that_the_card_names_stays() -> None:
    body = Body(card("http://127.0.0.1:1/v1").model_copy(update={"structured_output": "function"}))
    assert not body.is_ignored(body.of(request_of(answer_schema=SCHEMA)), Answer(completion="It is a person."))


@pytest.mark.parametrize(
    ("base_url", "is_shown"),
    [
        ("https://api.openai.com/v1", False),
        ("https://mine.openai.azure.com/openai/v1", False),
        ("https://openai.com.example.org/v1", True),
        ("http://127.0.0.1:1/v1", True),
    ],
)
def test_the_prompt_shows_a_schema_that_a_host_may_keep_to_itself(base_url: str, *, is_shown: bool) -> None:
    body = Body(card(base_url).model_copy(update={"structured_output": "json_schema"}))
    content = body.of(request_of(answer_schema=SCHEMA))["messages"][-1]["content"]
    assert (SCHEMA in content) == is_shown


def test_log_probabilities_land_where_they_were_asked_for() -> None:
    with running_server() as server:
        (plain,) = drive(card(server.base_url), requests_of(1))
        (answer,) = drive(card(server.base_url, sampling={"logprobs": True, "top_logprobs": 1}), requests_of(1))
    assert plain.token_logprobs is None
    token = {"token": answer.completion, "logprob": -0.25}
    assert json.loads(answer.token_logprobs or "") == [{**token, "top_logprobs": [token]}]


def test_a_budget_that_ends_stops_further_tries() -> None:
    allowed = iter([True, False])

    async def run(server: RunningServer) -> Answer:
        engine = OpenAIEngine(card(server.base_url), may_try=lambda: next(allowed))
        (answer,) = await ask_all(engine, requests_of(1))
        return answer

    with running_server(rates={"status_500": 1.0}) as server:
        answer = asyncio.run(run(server))
        assert server.counters()["requests"] == 2
    assert not answer.is_landed
    assert len(answer.attempts) == 2


@pytest.mark.slow
def test_mixed_faults_leave_every_request_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.05)
    rates = {"status_500": 0.08, "status_429": 0.06, "reset": 0.07, "hang": 0.02, "truncated": 0.07}
    with running_server(rates=rates) as server:
        answers = drive(card(server.base_url, timeout_s=1, max_attempts=12), requests_of(2000))
        by_outcome = server.counters()["by_outcome"]
    assert is_once_each(answers, 2000)
    assert by_outcome["answered"] == 2000
    assert sum(by_outcome.values()) - 2000 == sum(len(answer.attempts) for answer in answers)
