"""The engine of OpenAI-compatible endpoints against a real server: answers, faults, tries, limits."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from promptaudit.engines import Answer, Engine, Request
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.engines.openai_api.fast_http import _unpacked
from promptaudit.engines.pacing import lanes, pace, retry
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from tests.support.engine_requests import LABELS, request_of
from tests.support.openai_server import HUGE, RunningServer, running_server


def card(*urls: str, attempts: int = 3, timeout_s: float = 10, connections: int = 8, **fields: Any) -> ModelCard:
    limits = {"max_connections": connections, "max_attempts": attempts, "timeout_s": timeout_s} | fields.pop(
        "limits", {}
    )
    return ModelCard(engine="openai_api", model="m", base_url=urls, limits=limits, **fields)


def using(made: ModelCard, do: Callable[[Engine], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        engine = OpenAIEngine(made)
        try:
            return await do(engine)
        finally:
            await engine.close()

    return asyncio.run(run())


def ask(made: ModelCard, *requests: Request) -> list[Answer]:
    async def run(engine: Engine) -> list[Answer]:
        return list(await asyncio.gather(*(engine.answer(request) for request in requests)))

    answers: list[Answer] = using(made, run)
    return answers


def ask_for(server: RunningServer, fault: str, **options: Any) -> Answer:
    return ask(card(server.base_url, **options), request_of(f"<<{fault}>>"))[0]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)


def test_an_answer_with_all_that_came_with_it(server: RunningServer) -> None:
    request = request_of()
    (answer,) = ask(card(server.base_url), request)
    assert answer.completion in LABELS
    n_prompt, n_completion = len(request.messages[0][1]) // 4, len(answer.completion or "") // 4
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish_reason) == (n_prompt, n_completion, "stop")
    assert answer.sampling == "{}"
    assert (answer.served_model, answer.system_fingerprint) == ("loopback-model-1", "fp_loopback")
    assert answer.request_id == "req-1"
    assert answer.latency_ms is not None
    assert 0 < answer.latency_ms < 10_000
    assert (answer.error, answer.is_refused, answer.attempts) == (None, False, ())


def test_only_what_the_card_writes_is_sent(server: RunningServer) -> None:
    request = request_of(messages=(("system", "Be short."), ("user", "Which number?")))
    ask(card(server.base_url), request)
    (seen,) = server.requests()
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Which number?"}]
    assert seen["body"] == {"model": "m", "messages": messages}


def test_sampling_is_sent_as_written_and_the_seed_counts_repetitions(server: RunningServer) -> None:
    sampling = {"temperature": 0, "top_p": 0.5, "seed": 42, "max_tokens": 16, "stop": ["\n"]}
    ask(card(server.base_url, sampling=sampling), request_of(repetition=1), request_of(repetition=3))
    sent = sorted((seen["body"] for seen in server.requests()), key=lambda body: int(body["seed"]))
    assert [body["seed"] for body in sent] == [42, 44]
    assert {name: sent[0][name] for name in sampling} == sampling


def test_variables_of_the_client_send_nothing_the_card_does_not_say(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-card")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "key-of-an-admin")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer key-of-a-gateway\nX-Team: key-of-a-team")
    ask(card(server.base_url), request_of())
    headers = server.requests()[0]["headers"]
    assert headers["Authorization"] == "Bearer key-of-the-card"
    assert [value for value in headers.values() if "key-of" in value] == ["Bearer key-of-the-card"]


def test_nothing_is_told_about_this_machine(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    ask(card(server.base_url), request_of())
    headers = {name.lower(): value for name, value in server.requests()[0]["headers"].items()}
    assert headers["user-agent"] == "promptaudit"
    withheld = {
        "x-stainless-os",
        "x-stainless-arch",
        "x-stainless-runtime-version",
        "openai-organization",
        "openai-project",
    }
    assert not withheld & set(headers)


@pytest.mark.parametrize(
    ("fault", "completion"),
    [
        ("null_content", ""),
        ("parts", "number"),
        ("surrogate", "lone \ud800 half"),
        ("nul", "a\x00b"),
        ("zipped", "number"),
        ("odd_types", "number"),
    ],
)
def test_completions_are_verbatim(server: RunningServer, fault: str, completion: str) -> None:
    answer = ask_for(server, fault)
    assert (answer.completion, answer.is_refused, answer.error) == (completion, False, None)


def test_a_huge_completion_arrives_whole(server: RunningServer) -> None:
    assert ask_for(server, "huge").completion == "a" * HUGE


@pytest.mark.parametrize("fault", ["endless", "packed"])
def test_an_answer_without_end_is_an_error_of_its_request(server: RunningServer, fault: str) -> None:
    answer = ask_for(server, fault, timeout_s=60)
    assert answer.error == "an answer of more than 67108864 bytes"


def test_refusals_and_filters_are_flagged(server: RunningServer) -> None:
    refused = ask_for(server, "refusal")
    assert (refused.completion, refused.is_refused) == ("I'm sorry, I can't help with that.", True)
    filtered = ask_for(server, "stopped_by_filter")
    assert (filtered.completion, filtered.is_refused, filtered.finish_reason) == ("", True, "content_filter")


def test_reasoning_is_kept_apart(server: RunningServer) -> None:
    answer = ask_for(server, "reasoning")
    assert (answer.completion, answer.reasoning) == ("number", "It asks how many.")


def test_numbers_no_column_holds_become_nothing(server: RunningServer) -> None:
    answer = ask_for(server, "odd_types")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.served_model, answer.system_fingerprint) == (
        None,
    ) * 4


@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        ("status_500", 500, "HTTP 500: server_error: The server had an error"),
        ("status_503", 503, "HTTP 503"),
        ("status_429", 429, "HTTP 429: rate_limit_exceeded"),
        ("truncated", 200, "no JSON"),
        ("html", 200, "no JSON"),
        ("bad_utf8", 200, "no JSON"),
        ("no_choices", 200, "without choices"),
        ("error_200", 200, "502: Provider returned error"),
        ("reset", None, "disconnect"),
        ("cut", None, "ayload"),
        ("half_zipped", None, "a packed answer that ends too early"),
        ("badly_zipped", None, "an answer that cannot be unpacked"),
        ("otherwise_packed", None, "packed neither by gzip nor by deflate"),
    ],
)
def test_transient_faults_use_up_the_tries_and_leave_the_cell_missing(
    server: RunningServer, fault: str, status: int | None, says: str
) -> None:
    before = datetime.now(UTC)
    answer = ask_for(server, fault, attempts=2)
    assert (answer.completion, answer.error, answer.is_landed) == (None, None, False)
    assert [attempt.http_status for attempt in answer.attempts] == [status, status]
    assert all(says in attempt.error for attempt in answer.attempts)
    assert answer.attempts[0].waited_ms >= 0
    assert answer.attempts[1].waited_ms == 0
    assert before <= answer.attempts[0].attempted_at <= answer.attempts[1].attempted_at <= datetime.now(UTC)
    assert server.counters()["requests"] == 2


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("packing", "packed"),
    [
        ("gzip", gzip.compress(b"num") + gzip.compress(b"ber") + b"\0\0"),
        ("deflate", zlib.compress(b"number")),
        ("deflate", zlib.compress(b"number", wbits=-15)),
    ],
    ids=["gzip of two members", "deflate", "deflate without a header"],
)
def test_an_answer_is_unpacked_whole(packing: str, packed: bytes, size: int) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, len(packed), size):
            yield packed[start : start + size]

    async def unpacked() -> bytes:
        return b"".join([part async for part in _unpacked(parts(), packing)])

    assert asyncio.run(unpacked()) == b"number"


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_an_answer_that_does_not_come_whole_in_time_is_given_up(server: RunningServer, fault: str) -> None:
    started = time.monotonic()
    answer = ask_for(server, fault, attempts=2, timeout_s=0.4)
    assert 2.0 <= time.monotonic() - started < 6
    # nothing was ever answered: the second try waits four times as long
    texts = [attempt.error for attempt in answer.attempts]
    assert [text[:24] for text in texts] == ["no whole answer within 0", "no whole answer within 1"]


def test_a_server_that_answers_nothing_any_more_stops_the_model(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "SILENT_S", 0.5)
    with pytest.raises(EngineError, match=r"model 'm' at 127\.0\.0\.1:\d+: no whole answer within ") as raised:
        ask_for(server, "hang", attempts=3, timeout_s=0.2)
    assert len(raised.value.attempts) == 3


def test_a_request_is_answered_after_its_faults() -> None:
    first = {"status_500": 1, "reset": 1, "truncated": 1, "status_429": 1}
    with running_server(first=first) as server:
        (answer,) = ask(card(server.base_url, attempts=5), request_of())
        assert server.counters()["by_outcome"] == {**first, "answered": 1}
    assert answer.completion in LABELS
    assert [attempt.http_status for attempt in answer.attempts] == [500, None, 200, 429]


@pytest.mark.parametrize(("fault", "least", "most"), [("ms_429", 0.15, 2.0), ("date_429", 0.0, 2.0)])
def test_the_wait_a_server_asks_for_is_kept(server: RunningServer, fault: str, least: float, most: float) -> None:
    answer = ask_for(server, fault, attempts=2)
    assert least <= answer.attempts[0].waited_ms / 1000 < most


def test_retry_after_in_seconds_is_slept() -> None:
    with running_server(first={"status_429": 1}, retry_after="1") as server:
        started = time.monotonic()
        (answer,) = ask(card(server.base_url), request_of())
    assert answer.completion in LABELS
    assert 1000 <= answer.attempts[0].waited_ms < 2000  # a tenth more on purpose, and what a busy machine adds
    assert time.monotonic() - started >= 1


def test_retry_after_is_read_in_every_form() -> None:
    now = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
    assert retry.retry_after({"retry-after": "7"}, now) == 7
    assert retry.retry_after({"retry-after": "0.5"}, now) == 0.5
    assert retry.retry_after({"retry-after-ms": "250", "retry-after": "9"}, now) == 0.25
    assert retry.retry_after({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, now) == 30
    assert retry.retry_after({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, now) == 0
    assert retry.retry_after({"retry-after": "86400"}, now) == 300
    assert retry.retry_after({"retry-after": "inf"}, now) == 300
    assert retry.retry_after({"retry-after": "-3"}, now) == 0
    for odd in ("nan", "soon", "", "Sat, 99 Nov 2026"):
        assert retry.retry_after({"retry-after": odd}, now) is None
    assert retry.retry_after({}, now) is None


def test_waits_grow_twofold_to_a_minute_with_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.5)
    for next_try, top in ((2, 0.5), (3, 1.0), (4, 2.0), (20, 60.0), (100, 60.0)):
        waits = {retry.wait_before(next_try) for _ in range(50)}
        assert len(waits) > 40
        assert all(top / 2 <= wait <= top for wait in waits)
    assert all(10 <= retry.wait_before(2, 10) <= 11 for _ in range(50))
    assert retry.wait_before(2, 1000) == 300


@pytest.mark.parametrize(
    ("fault", "says"), [("context_length", "maximum context length is 8192"), ("unprocessable", "HTTP 422")]
)
def test_an_error_of_one_request_lands_as_such(server: RunningServer, fault: str, says: str) -> None:
    answer = ask_for(server, fault)
    assert answer.is_landed
    assert answer.completion is None
    assert answer.error is not None
    assert says in answer.error
    assert server.counters()["requests"] == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("wrong_key", "its key is read from OPENAI_API_KEY"),
        ("insufficient_quota", "exceeded your current quota"),
        ("unknown_model", "model_not_found"),
        ("forbidden", "HTTP 403"),
        ("redirect", "a redirect, which is not followed"),
    ],
)
def test_what_no_request_survives_stops_at_once_in_one_line(server: RunningServer, fault: str, says: str) -> None:
    with pytest.raises(EngineError) as caught:
        ask_for(server, fault)
    host = server.base_url.split("/")[2]
    assert f"model 'm' at {host}: " in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert server.counters()["requests"] == 1


def test_a_server_that_was_never_there_stops_the_run() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EngineError, match=r"model 'm' at 127.0.0.1:\d+: .*Cannot connect"):
        ask(card(url, attempts=2), request_of())


def test_a_server_that_goes_away_for_good_leaves_cells_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MAX_UNREACHABLE_S", 0.3)

    async def run(engine: Engine) -> list[Answer]:
        first = await engine.answer(request_of())
        server.process.kill()
        server.process.wait()
        return [first, await engine.answer(request_of())]

    with running_server() as server:
        first, second = using(card(server.base_url, attempts=2), run)
    assert first.completion in LABELS
    assert not second.is_landed
    assert len(second.attempts) >= 2


def test_several_endpoints_are_asked_in_turn_and_a_dead_one_is_passed_over() -> None:
    with running_server() as one, running_server() as two:
        ask(card(one.base_url, two.base_url), *(request_of(sample_id=str(i)) for i in range(10)))
        assert one.counters()["requests"] == two.counters()["requests"] == 5
        two.process.kill()
        two.process.wait()
        answers = ask(card(one.base_url, two.base_url), *(request_of(sample_id=str(i)) for i in range(10)))
    assert all(answer.completion in LABELS for answer in answers)


def test_as_many_connections_as_the_card_allows() -> None:
    with running_server(latency_s=0.5) as server:
        requests = [request_of(f"Number {index}?") for index in range(600)]
        started = time.monotonic()
        answers = ask(card(server.base_url, connections=150), *requests)
        elapsed = time.monotonic() - started
        counters = server.counters()
    assert all(answer.completion in LABELS for answer in answers)
    assert counters["peak_in_flight"] == 150
    assert (
        elapsed < 10
    )  # rounds of half a second with 16, 32, 64, 128 and 150 requests; one connection would need 300 s


@pytest.mark.parametrize(
    ("limits", "sampling"), [({"requests_per_minute": 1200}, {}), ({"tokens_per_minute": 60_000}, {"max_tokens": 22})]
)
def test_limits_a_minute_space_the_requests(
    server: RunningServer, limits: dict[str, int], sampling: dict[str, int]
) -> None:
    # 1,200 a minute are 50 ms apart; a prompt of 111 characters is 28 tokens, with 22 more 50 ms at 60,000 a minute
    requests = [request_of("Which " * 3 + "one?", repetition=index + 1) for index in range(11)]
    assert {len(request.messages[0][1]) for request in requests} == {111}
    started = time.monotonic()
    ask(card(server.base_url, limits=limits, sampling=sampling), *requests)
    assert 0.5 <= time.monotonic() - started < 3


def test_a_proxy_of_the_environment_does_not_catch_loopback(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ask(card(server.base_url), request_of())[0].completion in LABELS


def test_a_proxy_of_the_environment_is_used_for_other_hosts(
    monkeypatch: pytest.MonkeyPatch, server: RunningServer
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "some-key-of-mine")
    monkeypatch.setenv("HTTP_PROXY", server.base_url.removesuffix("/v1"))
    # the server takes the absolute form of a proxied request as its own path
    (answer,) = ask(card("http://models.invalid/v1"), request_of())
    assert answer.completion in LABELS
    assert server.requests()[0]["headers"]["Host"] == "models.invalid"


@pytest.mark.parametrize("url", ["http://localhost:1/v1", "http://127.1.2.3/v1", "http://[::1]:8000/v1"])
def test_loopback_needs_no_key(url: str) -> None:
    using(card(url), lambda engine: engine.close())


def test_other_hosts_need_the_key_that_the_card_names() -> None:
    with pytest.raises(EngineError, match=r"^EngineError: model 'm': api.openai.com needs a key: set OPENAI_API_KEY$"):
        OpenAIEngine(card())
    with pytest.raises(EngineError, match=r"example.org needs a key: set MY_KEY$"):
        OpenAIEngine(card("https://example.org/v1", api_key_env="MY_KEY"))


@pytest.mark.parametrize("url", ["ftp://host/v1", "host/v1", "http://", "http://host:port/v1", "http://[::1/v1"])
def test_a_malformed_url_is_one_line(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "some-key-of-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", url)  # of a card the card itself refuses it
    with pytest.raises(EngineError, match="base_url"):
        OpenAIEngine(card())


def test_a_model_can_be_asked_for_rewordings(server: RunningServer) -> None:
    prompt = "Reword this in 12 ways.\n<instruction>\nPick {x}.\n</instruction>"
    request = request_of(messages=(("user", prompt),))
    first, second = ask(card(server.base_url, sampling={"temperature": 1}), request, request)
    texts = json.loads(first.completion or "")
    assert len(set(texts)) == 12
    assert all("Pick {x}." in text and text != "Pick {x}." for text in texts)
    assert second.completion != first.completion


def test_the_url_of_the_environment_is_the_default(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    assert ask(card(), request_of())[0].completion in LABELS
