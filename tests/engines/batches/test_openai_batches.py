"""Batches against a real server of the Files and Batch API: results, failures, hostile files, keys."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import ValidationError

from promptaudit.engines import Answer, Request
from promptaudit.engines.batches import lines, provider
from promptaudit.engines.batches.openai_batches import BatchApi, BatchStatus
from promptaudit.engines.pacing import retry
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from tests.support.batch_server import RunningBatchServer, running_batch_server
from tests.support.engine_requests import LABELS, request_of

ROOT = Path(__file__).parents[3]
RUN = {"promptaudit_run": "r1", "promptaudit_model": "m"}


def card(server: RunningBatchServer, **fields: Any) -> ModelCard:
    limits = {"timeout_s": 5, "max_attempts": 3}
    return ModelCard(engine="batch", model="m", base_url=server.base_url, limits=limits, **fields)


def using(made: ModelCard, folder: Path, do: Callable[[BatchApi], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        batches = BatchApi(made, folder)
        try:
            return await do(batches)
        finally:
            await batches.close()

    return asyncio.run(run())


def requests_of(*texts: str, **fields: Any) -> list[Request]:
    return [request_of(text, prediction_id=f"{number:032x}", **fields) for number, text in enumerate(texts)]


async def submit(batches: BatchApi, requests: list[Request]) -> str:
    with batches.draft() as draft:
        for request in requests:
            assert draft.add(request)
        return await batches.submit(draft, RUN)


async def ended(batches: BatchApi, batch_id: str) -> BatchStatus:
    while (seen := await batches.look(batch_id)) is None or not seen.is_ended:  # noqa: ASYNC110 - a provider calls nobody
        await asyncio.sleep(0.02)
    return seen


async def results(batches: BatchApi, requests: list[Request]) -> list[tuple[str, Answer]]:
    batch_id = await submit(batches, requests)
    await ended(batches, batch_id)
    return [pair async for pair in batches.answers(batch_id)]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)


@pytest.fixture(scope="session")
def _running() -> Iterator[RunningBatchServer]:
    with running_batch_server() as running:
        yield running


@pytest.fixture
def server(_running: RunningBatchServer) -> RunningBatchServer:
    """A server without files or batches that takes no time."""
    _running.reset(seconds=0)
    return _running


def test_a_batch_from_its_requests_to_its_answers(server: RunningBatchServer, tmp_path: Path) -> None:
    requests = requests_of("one", "two", "three")

    async def run(batches: BatchApi) -> tuple[list[BatchStatus], dict[str, Answer]]:
        batch_id = await submit(batches, requests)
        looks = []
        while not looks or not looks[-1].is_ended:
            looks.append(await batches.look(batch_id))
        return looks, {name: answer async for name, answer in batches.answers(batch_id)}

    looks, answers = using(card(server, sampling={"temperature": 0, "seed": 7}), tmp_path, run)
    assert [seen.state for seen in looks] == ["in_progress", "finalizing", "completed"]
    assert (looks[-1].n_requests, looks[-1].n_done, looks[-1].error) == (3, 3, None)
    assert set(answers) == {request.prediction_id for request in requests}
    answer = answers[requests[0].prediction_id]
    assert answer.completion in LABELS
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish_reason) == (12, 3, "stop")
    assert (answer.request_id, answer.served_model, answer.latency_ms) == ("req_00000000", "loopback-model-1", None)
    counters = server.counters()
    (made,) = counters["batches"]
    assert (made["endpoint"], made["completion_window"], made["metadata"]) == ("/v1/chat/completions", "24h", RUN)
    messages = [{"role": "user", "content": requests[0].messages[0][1]}]
    assert counters["bodies"][0] == {"model": "m", "messages": messages, "temperature": 0, "seed": 7}
    assert list(tmp_path.iterdir()) == []


def test_what_becomes_of_a_request_that_failed(server: RunningBatchServer, tmp_path: Path) -> None:
    requests = requests_of("<<status_400>>", "<<status_500>>", "<<expire>>", "plain")
    answers = dict(using(card(server), tmp_path, lambda batches: results(batches, requests)))
    long, broken, expired, plain = (answers[request.prediction_id] for request in requests)
    assert plain.completion in LABELS
    assert long.error is not None
    assert "maximum context length" in long.error
    assert (broken.completion, broken.error, broken.attempts[0].http_status) == (None, None, 500)
    assert (expired.completion, expired.error, expired.attempts[0].http_status) == (None, None, None)
    assert expired.attempts[0].error.startswith("batch_expired: ")


def test_an_expired_and_a_cancelled_batch_give_their_finished_part(server: RunningBatchServer, tmp_path: Path) -> None:
    requests = requests_of("<<expire>>", "plain")

    async def run(batches: BatchApi) -> tuple[BatchStatus, BatchStatus]:
        expired = await ended(batches, await submit(batches, requests))
        server.behave(seconds=60)
        batch_id = await submit(batches, requests)
        server.cancel(batch_id)
        assert [pair async for pair in batches.answers(batch_id)] == []
        return expired, await ended(batches, batch_id)

    expired, cancelled = using(card(server), tmp_path, run)
    assert (expired.state, expired.n_done) == ("expired", 2)
    assert (cancelled.state, cancelled.is_ended) == ("cancelled", True)


def test_a_refusal_for_all_is_told_after_the_answers(server: RunningBatchServer, tmp_path: Path) -> None:
    async def run(batches: BatchApi) -> tuple[list[tuple[str, Answer]], EngineError | None]:
        return await results(batches, requests_of("<<stop>>", "plain")), batches.refused

    pairs, refused = using(card(server), tmp_path, run)
    assert sorted(answer.is_landed for _, answer in pairs) == [False, True]
    assert refused is not None
    assert "HTTP 404: model_not_found: The model `m` does not exist." in str(refused)


def test_a_parameter_that_is_refused_is_left_out_of_the_next_batch(server: RunningBatchServer, tmp_path: Path) -> None:
    requests = requests_of("one", "two")
    server.reset(seconds=0, rates={"refuse_cap": 1})

    async def run(batches: BatchApi) -> tuple[list[bool], str, str]:
        batch_id = await submit(batches, requests)
        await ended(batches, batch_id)
        first = [answer.is_landed async for _, answer in batches.answers(batch_id)]
        assert batches.refused is None
        second = [answer.is_landed for _, answer in await results(batches, requests)]
        assert list(batches.notes) == ["takes no max_tokens: max_completion_tokens is sent instead"]
        return ([*first, *second], batches.sent_as(batch_id, requests[0]), batches.sent_as("batch_000002", requests[0]))

    landed, before, after = using(card(server, sampling={"max_tokens": 5}), tmp_path, run)
    assert landed == [False, False, True, True]
    assert (before, after) == ('{"max_tokens": 5}', '{"max_completion_tokens": 5}')


def test_a_batch_that_failed_as_a_whole_says_why(server: RunningBatchServer, tmp_path: Path) -> None:
    server.reset(fails="invalid_json_line")

    async def run(batches: BatchApi) -> BatchStatus:
        return await ended(batches, await submit(batches, requests_of("one")))

    seen = using(card(server), tmp_path, run)
    assert seen.error == "invalid_json_line: The batch is refused: invalid_json_line. (line 1)"
    assert not seen.is_full


def test_a_batch_that_was_made_in_spite_of_a_failure_is_taken(server: RunningBatchServer, tmp_path: Path) -> None:
    server.reset(seconds=0, lose_creates=1)
    answers = using(card(server), tmp_path, lambda batches: results(batches, requests_of("one")))
    assert [answer.is_landed for _, answer in answers] == [True]
    assert (server.counters()["creates"], server.counters()["uploads"]) == (1, 1)


def test_batches_are_found_by_their_metadata_over_several_pages(server: RunningBatchServer, tmp_path: Path) -> None:
    server.reset(page=2)

    async def run(batches: BatchApi) -> tuple[list[str], list[str], list[str]]:
        made = [await submit(batches, requests_of(str(number))) for number in range(5)]
        return made, await batches.find(RUN), await batches.find({**RUN, "promptaudit_run": "r2"})

    made, found, others = using(card(server), tmp_path, run)
    assert found == made
    assert others == []


def test_lines_that_are_no_results_are_told_apart(server: RunningBatchServer, tmp_path: Path) -> None:
    server.reset(seconds=0, n_malformed=14, n_doubled=1, n_foreign=1)
    pairs = using(card(server), tmp_path, lambda batches: results(batches, requests_of("one", "two")))
    names = [name for name, _ in pairs]
    # of seven kinds of garbage one is an empty line, which is skipped
    assert names.count("") == 12
    assert sorted(name[-1] for name in names if name) == ["0", "0", "0", "1"]
    assert not any(answer.is_landed for name, answer in pairs if not name)


def test_a_line_over_the_bound_is_passed_over(
    server: RunningBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 2000)
    server.behave(n_output_bytes=5000)
    pairs = using(card(server), tmp_path, lambda batches: results(batches, requests_of("one", "<<status_400>>")))
    assert [(name, answer.is_landed) for name, answer in pairs] == [("", False), (f"{1:032x}", True)]


def test_a_draft_takes_so_many_requests_and_so_many_bytes(
    server: RunningBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fill(batches: BatchApi) -> tuple[int, int]:
        with batches.draft() as draft:
            n_taken = sum(draft.add(request) for request in requests_of(*"abcdefgh"))
            assert draft.n_requests == n_taken
            return n_taken, draft.n_bytes

    assert using(card(server, batch={"max_requests": 3}), tmp_path, fill)[0] == 3
    (n_all, n_bytes) = using(card(server), tmp_path, fill)
    assert n_all == 8
    monkeypatch.setattr(lines, "MAX_FILE_BYTES", n_bytes - 1)
    assert using(card(server), tmp_path, fill)[0] == 7

    async def add(batches: BatchApi) -> None:
        with batches.draft() as draft:
            draft.add(request_of("x" * n_bytes))

    with pytest.raises(ValueError, match="a batch holds"):
        using(card(server), tmp_path, add)
    with pytest.raises(ValueError, match="lone surrogate"):
        using(card(server), tmp_path, lambda batches: submit(batches, requests_of("\ud800")))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("redirect", "a redirect, which is not followed"),
        ("echo_500", "HTTP 500"),
        ("endless", "a file of more than 10000000 bytes"),
    ],
)
def test_results_that_cannot_be_fetched(
    server: RunningBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, error: str
) -> None:
    monkeypatch.setattr(provider, "MAX_DOWNLOAD_BYTES", 10_000_000)
    server.behave(content=content)
    with pytest.raises(EngineError, match=error) as raised:
        using(card(server), tmp_path, lambda batches: results(batches, requests_of("one")))
    assert "\n" not in str(raised.value)


def test_results_that_the_provider_deleted_are_none(server: RunningBatchServer, tmp_path: Path) -> None:
    server.behave(content="gone")
    assert using(card(server), tmp_path, lambda batches: results(batches, requests_of("one"))) == []


def test_results_may_come_packed(server: RunningBatchServer, tmp_path: Path) -> None:
    server.behave(content="gzip")
    assert len(using(card(server), tmp_path, lambda batches: results(batches, requests_of("one")))) == 1


def test_a_look_without_an_answer_is_no_end(server: RunningBatchServer, tmp_path: Path) -> None:
    server.behave(lose_looks=2)

    async def run(batches: BatchApi) -> list[BatchStatus | None]:
        batch_id = await submit(batches, requests_of("one"))
        return [await batches.look(batch_id) for _ in range(3)]

    looks = using(card(server), tmp_path, run)
    assert looks[:2] == [None, None]
    assert looks[2].state == "in_progress"
    with pytest.raises(
        EngineError, match=r"No batch found with id 'batch_9'.; correct base_url or the key, or .* --new"
    ):
        using(card(server), tmp_path, lambda batches: batches.look("batch_9"))


def test_fields_of_other_types_are_no_trouble(server: RunningBatchServer, tmp_path: Path) -> None:
    server.behave(hostile_batch=True)

    async def run(batches: BatchApi) -> tuple[BatchStatus | None, list[str]]:
        batch_id = await submit(batches, requests_of("one"))
        assert [pair async for pair in batches.answers(batch_id)] == []
        return await batches.look(batch_id), await batches.find(RUN)

    seen, found = using(card(server), tmp_path, run)
    assert (seen.n_requests, seen.n_done, seen.is_ended, found) == (0, 0, False, [])


def test_batches_go_to_one_endpoint_with_a_key(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="base_url lists 2 addresses; batches go to one"):
        ModelCard(engine="batch", model="m", base_url=("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"))
    with pytest.raises(EngineError, match="needs a key: set OPENAI_API_KEY"):
        BatchApi(ModelCard(engine="batch", model="m", base_url="http://example.org/v1"), tmp_path)
    dead = ModelCard(engine="batch", model="m", base_url="http://127.0.0.1:9/v1", limits={"max_attempts": 2})
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:9: the upload of a batch: .*Connect"):
        using(dead, tmp_path, lambda batches: submit(batches, requests_of("one")))


KEYS = ("sk-proj-AbCdEf0123456789AbCdEf0123456789", "a-plain-but-long-pass(word)*")
HOSTILE: tuple[dict[str, Any], ...] = (
    {"key": "another"},
    {"hostile_batch": True},
    {"content": "echo_500"},
    {"content": "redirect"},
    {"fails": "invalid_api_key"},
    {"lose_creates": 9},
    {"rates": {"stop": 1}},
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("behaviour", HOSTILE, ids=json.dumps)
def test_no_key_gets_out(
    server: RunningBatchServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    key: str,
    behaviour: dict[str, Any],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("BATCH_KEY", key)
    server.behave(**behaviour)
    shown: list[str] = []

    async def run(batches: BatchApi) -> None:
        batch_id = await submit(batches, requests_of("one"))
        for _ in range(3):
            shown.append(repr(await batches.look(batch_id)))
        shown.append(repr([pair async for pair in batches.answers(batch_id)]))
        shown.append(repr(batches.refused))

    try:
        using(card(server, api_key_env="BATCH_KEY"), tmp_path, run)
    except EngineError as error:
        cause: BaseException | None = error
        while cause is not None:
            shown += [repr(cause), repr(vars(cause)), *traceback.format_exception(cause)]
            cause = cause.__cause__ or cause.__context__
    shown += [record.getMessage() + repr(vars(record)) for record in caplog.records]
    assert shown
    for text in shown:
        assert not [
            form for form in (key, quote(key, safe=""), base64.b64encode(key.encode()).decode()) if form in text
        ]


def test_a_key_in_a_completion_is_hidden_unless_it_was_sent(
    server: RunningBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "xxxxx")
    server.behave(n_output_bytes=5)

    async def run(batches: BatchApi) -> list[str | None]:
        batch_id = await submit(batches, requests_of("one"))
        await ended(batches, batch_id)
        hidden = [answer.completion async for _, answer in batches.answers(batch_id)]
        return hidden + [answer.completion async for _, answer in batches.answers(batch_id, ["say xxxxx"])]

    hidden, shown = using(card(server), tmp_path, run)
    assert hidden.endswith("[hidden]")
    assert shown.endswith("xxxxx")


@pytest.mark.soak
def test_files_of_two_hundred_megabytes_take_no_memory(server: RunningBatchServer, tmp_path: Path) -> None:
    server.reset(seconds=0, n_output_bytes=4000)
    text = f"""
import asyncio, json, pathlib, resource
from promptaudit.engines.batches.openai_batches import BatchApi
from promptaudit.registry.cards import ModelCard
from tests.support.engine_requests import request_of

def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def run():
    batches = BatchApi(ModelCard(engine="batch", model="m", base_url={server.base_url!r}), pathlib.Path({str(tmp_path)!r}))
    before, n = peak(), 0
    with batches.draft() as draft:
        while draft.add(request_of("y" * 4000, prediction_id=f"{{draft.n_requests:032x}}")):
            pass
        batch_id = await batches.submit(draft, {{}})
    while not (await batches.look(batch_id)).is_ended:
        await asyncio.sleep(0.2)
    async for _, answer in batches.answers(batch_id):
        n += answer.is_landed
    print(json.dumps([draft.n_requests, draft.n_bytes, n, peak() - before]))
    await batches.close()

asyncio.run(run())
"""
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    n_requests, n_bytes, n_landed, grown_mb = json.loads(done.stdout)
    assert n_requests == n_landed > 40_000
    assert 199_000_000 < n_bytes <= 200_000_000
    assert sum(server.counters()["bytes"].values()) > 400_000_000
    assert grown_mb < 40
