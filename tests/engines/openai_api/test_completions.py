"""What counts as an answer, and what a server's refusal says, in the forms that servers give them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from promptaudit.engines import Answer, Attempt
from promptaudit.engines.batches.lines import Results
from promptaudit.engines.openai_api.addresses import advice, refuse_addresses
from promptaudit.engines.openai_api.body import Body
from promptaudit.engines.openai_api.completions import read_completion
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.engines.openai_api.error_bodies import described, error_of
from promptaudit.engines.openai_api.faults import Failure, failure_of
from promptaudit.engines.pacing import retry
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from tests.support.engine_requests import request_of
from tests.support.loopback import QuietHandler, completion_of, served_in_threads

Reply = Callable[[dict[str, Any]], tuple[int, Any]]
OTHER_ERROR = {"error": {"message": "upstream disconnected", "code": 502}}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.001)


@contextlib.contextmanager
def answering(reply: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server whose replies are made by a function of the body, as JSON or as a text; yields its root and what it was sent."""
    asked: list[dict[str, Any]] = []

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            status, said = reply(asked[-1])
            content = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with served_in_threads(Handler) as port:
        yield f"http://127.0.0.1:{port}", asked


def ask(base_url: str, attempts: int = 3, **fields: Any) -> tuple[Answer, list[str]]:
    """The answer to one request, and what the engine has to say at its end."""
    card = ModelCard(engine="openai_api", model="m", base_url=base_url, limits={"max_attempts": attempts}, **fields)

    async def run() -> tuple[Answer, list[str]]:
        engine = OpenAIEngine(card)
        try:
            return await engine.answer(request_of()), list(engine.notes)
        finally:
            await engine.close()

    return asyncio.run(run())


def read(body: Any) -> Answer | Failure:
    text = body if isinstance(body, str) else json.dumps(body)
    return read_completion(text.encode(), None, (), ())


def failed(status: int, said: Any) -> Failure:
    text = said if isinstance(said, str) else json.dumps(said)
    failure = read(text) if status == 200 else failure_of(status, error_of(text), {})
    assert isinstance(failure, Failure)
    return failure


def ended_by(reason: object, content: str | None = "number", **choice: Any) -> Answer | Failure:
    body = completion_of(content)
    body["choices"][0] |= {"finish_reason": reason, **choice}
    return read(body)


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("eos_token", "stop"),
        ("stop_sequence", "stop"),
        ("end_turn", "stop"),
        ("STOP", "stop"),
        ("COMPLETE", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("tool_calls", "tool_calls"),
        ("tool-calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("content_filter: RECITATION", "content_filter"),
        (None, None),
        ("", None),
        ("null", None),
        ("None", None),
        ("MAX_TOKENS_EXCEEDED", "length"),
        ("max_length", "length"),
        ("max_new_tokens", "length"),
        ("maxTokens", "length"),
        ("repetition", "length"),
        ("FinishReason.STOP", "stop"),
        ("FINISH_REASON_STOP", "stop"),
        ("endoftext", "stop"),
        ("FinishReason.MaxTokens", "length"),
        ("stop_token", "stop"),
        ("finished", "stop"),
        ("done", "stop"),
        ("end", "stop"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MODEL_ARMOR", "content_filter"),
        ("LANGUAGE", "content_filter"),
        ("ERROR_TOXIC", "content_filter"),
    ],
)
def test_an_end_in_a_providers_word_is_kept_as_openais(reason: object, kept: str | None) -> None:
    answer = ended_by(reason)
    assert isinstance(answer, Answer)
    assert (answer.completion, answer.finish_reason) == ("number", kept)
    assert answer.is_refused == (kept == "content_filter")


@pytest.mark.parametrize("content", ["", None, "numb"])
@pytest.mark.parametrize(
    "reason",
    [
        "error",
        "abort",
        "insufficient_system_resource",
        "network_error",
        "timeout",
        "cancelled",
        "load",
        "pause_turn",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
        "never heard of",
        0,
        {"type": "stop"},
    ],
)
def test_any_other_reason_is_a_failed_try_that_says_it(reason: object, content: str | None) -> None:
    failure = ended_by(reason, content)
    assert isinstance(failure, Failure)
    assert (failure.verdict, failure.http_status) == ("again", 200)
    assert failure.text == f"an answer that did not end: its finish_reason is {reason!r}"


def test_an_answer_without_a_reason_needs_a_text() -> None:
    body = completion_of("number")
    del body["choices"][0]["finish_reason"]
    answer = read(body)
    assert isinstance(answer, Answer)
    assert (answer.completion, answer.finish_reason) == ("number", None)
    body["choices"][0]["message"]["content"] = ""
    failure = read(body)
    assert isinstance(failure, Failure)
    assert (failure.verdict, failure.text) == ("again", "an answer with neither a text nor a finish_reason")


def test_an_error_beside_a_choice_makes_it_none() -> None:
    gone = "an answer that did not end: its finish_reason is 'error': 502: upstream disconnected"
    for found, text in (
        (ended_by("error", "", **OTHER_ERROR), gone),
        (ended_by("stop", "numb", **OTHER_ERROR), "an answer with an error: 502: upstream disconnected"),
        (read(completion_of("numb") | OTHER_ERROR), "an answer with an error: 502: upstream disconnected"),
    ):
        assert isinstance(found, Failure)
        assert (found.verdict, found.text) == ("again", text)
    for nothing in (
        None,
        {},
        "",
        [],
        "null",
        {"code": 0, "message": ""},
        {"code": 0, "message": "success"},
        {"code": None},
    ):
        assert isinstance(read(completion_of("number") | {"error": nothing, "errors": nothing}), Answer)
    for nothing in (
        {"code": 0, "message": "success"},
        {"code": 200},
        {"base_resp": {"status_code": 0, "status_msg": "success"}},
    ):
        assert isinstance(read(completion_of("number") | nothing), Answer)


@pytest.mark.parametrize(
    ("beside", "choice", "text"),
    [
        ({"errors": [{"message": "upstream gone", "code": 502}]}, {}, "an answer with an error: 502: upstream gone"),
        ({"code": 500, "message": "engine died"}, {}, "an answer with an error: 500: engine died"),
        ({"code": "503"}, {}, "an answer with an error: 503: no reason is given"),
        ({"error": {"code": 500}}, {}, "an answer with an error: 500"),
        ({"base_resp": {"status_code": 1013, "status_msg": "internal"}}, {}, "an answer with an error: internal"),
        ({}, {"message": {"content": "numb", "error": {"message": "cut off"}}}, "an answer with an error: cut off"),
        ({}, {"finish_reason": None, "stop_reason": "error"}, "an answer that did not end: its stop_reason is 'error'"),
        ({}, {"native_finish_reason": "error"}, "an answer that did not end: its native_finish_reason is 'error'"),
    ],
)
def test_an_error_is_found_wherever_it_stands(beside: dict[str, Any], choice: dict[str, Any], text: str) -> None:
    body = completion_of("numb") | beside
    body["choices"][0] |= choice
    failure = read(body)
    assert isinstance(failure, Failure)
    assert (failure.verdict, failure.text) == ("again", text)


def test_a_stop_that_the_card_names_is_no_error() -> None:
    answer = ended_by("stop", stop_reason="error", native_finish_reason="stop")  # of vLLM: the text that it stopped at
    assert isinstance(answer, Answer)


def test_of_a_content_in_parts_its_texts_are_the_completion() -> None:
    parts = [
        {"type": "reasoning", "text": "negative"},
        {"type": "text", "text": "posi"},
        {"type": "output_text", "text": "ti"},
        {"text": "ve"},
        {"type": "thinking", "text": "so"},
    ]
    answer = read(completion_of(parts))
    assert isinstance(answer, Answer)
    assert answer.completion == "positive"


def test_a_body_of_more_values_than_any_answer_has_is_not_parsed() -> None:
    body = '{"choices": [' + "[]," * 8_000_000 + "0]}"
    tracemalloc.start()
    try:
        failure = read(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(failure, Failure)
    assert failure.verdict == "never"
    assert failure.text.startswith("an answer: more than")
    assert peak < 200_000_000


def test_a_half_answer_is_asked_again_as_a_502_is() -> None:
    halves = iter([("error", "nu"), ("abort", ""), ("stop", "number")])

    def reply(_: dict[str, Any]) -> tuple[int, Any]:
        reason, text = next(halves)
        return 200, completion_of(text, finish_reason=reason)

    with answering(reply) as (root, asked):
        answer, _ = ask(f"{root}/v1")
    assert (answer.completion, len(asked)) == ("number", 3)
    assert [attempt.error.rpartition(" ")[2] for attempt in answer.attempts] == ["'error'", "'abort'"]


def test_a_half_answer_in_a_batch_is_left_for_the_next_one() -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    learnt: list[tuple[int, Any]] = []
    results = Results((), (), at, lambda status, error: learnt.append((status, error["param"])) or True)
    said = [completion_of("nu", finish_reason="error"), {"error": {"message": "no seed", "code": 400, "param": "seed"}}]
    for body, error in zip(
        said, ("an answer that did not end: its finish_reason is 'error'", "400: no seed"), strict=True
    ):
        line = {"custom_id": "a", "response": {"status_code": 200, "body": body}}
        found = results.read(json.dumps(line).encode())
        assert found == ("a", Answer(attempts=(Attempt(at, 200, error, 0.0),)))
    assert (learnt, results.stopped_by) == ([(400, "seed")], None)


def test_a_model_that_never_ends_uses_up_its_tries() -> None:
    with answering(lambda _: (200, completion_of("number", finish_reason="odd"))) as (root, asked):
        answer, _ = ask(f"{root}/v1")
    assert (answer.is_landed, len(answer.attempts), len(asked)) == (False, 3, 3)
    assert answer.attempts[-1].error == "an answer that did not end: its finish_reason is 'odd'"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"error": {"message": "no", "code": "bad"}}, "bad: no"),
        ({"error": "Unexpected endpoint"}, "Unexpected endpoint"),
        ({"error": "Overloaded", "error_type": "overloaded"}, "Overloaded"),
        ({"object": "error", "message": "not loaded", "type": "NotFoundError", "code": 404}, "404: not loaded"),
        ({"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}, "model: x"),
        ({"timestamp": 1, "status": 404, "error": "Not Found", "message": "no handler"}, "Not Found: no handler"),
        ({"title": "Not Found", "status": 404, "detail": "no such route"}, "no such route: Not Found"),
        (
            {"success": False, "errors": [{"code": 7000, "message": "No route for that URI"}]},
            "7000: No route for that URI",
        ),
        (
            [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}],
            "400: API key not valid.",
        ),
        ({"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "x"}}}, "x: Invalid ApiKey"),
        ({"error_code": 336001, "error_msg": "Invalid token"}, "336001: Invalid token"),
        ({"error": {"message": '{"error": {"message": "inner"}}'}}, "inner"),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "busy"}}},
            "Provider returned error: busy",
        ),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"type": "missing", "loc": ["body", "input"], "msg": "Field required"}]}, "input: Field required"),
        ({"info": "nothing that is known"}, '{"info": "nothing that is known"}'),
        (
            "<html><head><title>502 Bad Gateway</title><style>p{}</style></head><p>nginx &amp; co</p></html>",
            "502 Bad Gateway nginx & co",
        ),
        ("<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>", "AccessDenied Access Denied"),
        ("upstream connect error", "upstream connect error"),
        ("{half", "{half"),
        ("[]", "[]"),
        ("{}", "{}"),
        ("7", "7"),
        ("", ""),
        ('{"error": ' * 400 + "1" + "}" * 400, None),
        ("[" * 5000, None),
        ("[" * 900 + "]" * 900, None),
    ],
)
def test_what_a_server_says_is_found_whatever_its_form(said: Any, text: str | None) -> None:
    body = said if isinstance(said, str) else json.dumps(said)
    found = described(error_of(body))
    assert found == (body if text is None else text or "no reason is given")


NO_SUCH_ENDPOINT = "Unexpected endpoint or method. (POST /chat/completions)"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, {"error": NO_SUCH_ENDPOINT}),
        (200, {"object": "error", "message": "model m is not loaded", "type": "NotFoundError", "code": 404}),
        (200, {"object": "error", "message": "model m is not loaded", "type": "NotFoundError"}),
        (200, {"message": "Unauthorized"}),
        (200, {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}}),
        (200, {"detail": "Not Found"}),
        (200, {"message": "Forbidden"}),
        (200, {"message": "User is not authorized to access this resource"}),
        (200, {"error": "Authentication error"}),
        (200, {"msg": "Access token invalid"}),
        (200, {"error": "Access denied"}),
        (
            200,
            {
                "choices": None,
                "base_resp": {
                    "status_code": 1004,
                    "status_msg": "login fail: Please carry the API secret key in the 'Authorization' field",
                },
            },
        ),
        (200, {"error": "Your account is in arrears"}),
        (200, {"message": "no Route matched with those values"}),
        (200, "Unauthorized"),
        (200, "<html><body>Sign in to the network</body></html>"),
        (200, "<!doctype html><html><title>403 Forbidden</title></html>"),
        (404, "404 page not found"),
        (404, {"error": "model 'm' not found"}),
        (405, {"detail": "Method Not Allowed"}),
        (401, {"message": "nope"}),
        (400, {"error": {"message": "Model Not Exist", "code": "invalid_request_error"}}),
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]),
        (400, {"error": {"message": "Missing required query parameter: api-version"}}),
        (422, {"detail": [{"type": "missing", "loc": ["body", "prompt"], "msg": "Field required"}]}),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "reasoning"], "msg": "Extra inputs"}]}),
        (
            422,
            {"detail": [{"type": "less_than", "loc": ["body", "temperature"], "msg": "Input should be less than 1"}]},
        ),
        (400, {"error": {"message": "must be one of a, b", "param": "model"}}),
    ],
)
def test_a_refusal_that_never_passes_stops_the_model(status: int, said: Any) -> None:
    failure = failed(status, said)
    assert failure.verdict == "stop"
    assert described(error_of(said if isinstance(said, str) else json.dumps(said))) in failure.text


@pytest.mark.parametrize("path", ["", "/"])
def test_a_stop_is_one_request_and_says_what_the_server_says(path: str) -> None:
    with answering(lambda _: (200, {"error": NO_SUCH_ENDPOINT})) as (root, asked):
        with pytest.raises(EngineError) as caught:
            ask(root + path)
        assert len(asked) == 1
    advised = f"{NO_SUCH_ENDPOINT}; base_url names no path, and most servers answer at {root}/v1"
    assert str(caught.value) == f"EngineError: model 'm' at {root.removeprefix('http://')}: {advised}"


AZURE = "without an api-version and with the deployment's name as `model`"


@pytest.mark.parametrize(
    ("url", "status", "text", "advised"),
    [
        ("http://h:1", 404, NO_SUCH_ENDPOINT, "; base_url names no path, and most servers answer at http://h:1/v1"),
        ("http://h:1/", 405, "no", "; base_url names no path, and most servers answer at http://h:1/v1"),
        ("http://h:1/v1", 404, "Not Found", ""),
        ("http://h:1", 404, "The model `m` does not exist", ""),
        ("http://h:1", 400, "no", ""),
        ("http://h:1/v1/chat/completions", 404, "Not Found", "; base_url ends before /chat/completions"),
        (
            "https://r.openai.azure.com/openai/deployments/d",
            404,
            "Resource not found",
            f"; Azure answers at https://r.openai.azure.com/openai/v1, {AZURE}",
        ),
        ("https://r.openai.azure.com/openai/v1", 404, "Resource not found", ""),
        (
            "https://gateway.org/azure",
            400,
            "Missing required query parameter: api-version",
            f"; Azure answers at https://gateway.org/openai/v1, {AZURE}",
        ),
        ("http://h:1", 401, "no", "; its key is read from OPENAI_API_KEY"),
    ],
)
def test_a_refusal_says_what_to_look_at(url: str, status: int, text: str, advised: str) -> None:
    card = ModelCard(engine="openai_api", model="m", base_url=("http://other/v1", url))
    assert advice(card, url.split("/")[2], status, text) == advised


def test_azures_query_is_refused_with_the_address_that_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    advised = f"has no query; Azure answers at https://r.openai.azure.com/openai/v1, {AZURE}"
    with pytest.raises(ValidationError, match=advised):
        ModelCard(engine="openai_api", model="m", base_url=url)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(EngineError, match=advised):
        refuse_addresses(ModelCard(engine="openai_api", model="m"), "key")


@pytest.mark.parametrize(
    "said",
    [
        {"error": "Model is currently loading", "estimated_time": 20.0},
        {"error": "upstream disconnected"},
        {"error": {"message": "overloaded", "code": 429}},
        {"error": {"message": "Provider returned error", "code": 502}},
        {"id": "x", "choices": []},
        {"object": "error", "message": "engine died", "type": "InternalServerError", "code": 500},
        {"error": "the words of this request are forbidden"},
        "<html><body>503 Service Unavailable</body></html>",
        "<p>We are busy, try again</p>",
        "upstream connect error",
        'data: {"choices": []}\n\n',
        "[7]",
        '"busy"',
        "null",
    ],
)
def test_what_may_pass_with_status_200_is_asked_again(said: Any) -> None:
    failure = read(said)
    assert isinstance(failure, Failure)
    assert failure.verdict == "again"


def test_the_words_of_a_200_that_is_no_completion_are_told() -> None:
    sign_in = read("<html><body>Sign in to the network</body></html>")
    stream = read('data: {"choices": []}\n\n')
    half = read('{"choices": [{"message": {"content": "sec')
    unknown = read({"info": "no such thing", "choices": []})
    assert all(isinstance(each, Failure) for each in (sign_in, stream, half, unknown))
    assert "no JSON: Sign in to the network" in sign_in.text  # type: ignore[union-attr]
    assert "no JSON but a stream, which was not asked for" in stream.text  # type: ignore[union-attr]
    assert "sec" not in half.text  # type: ignore[union-attr]
    assert 'an answer without choices: {"info": "no such thing"' in unknown.text  # type: ignore[union-attr]


@pytest.mark.parametrize("status", [400, 422, 200])
@pytest.mark.parametrize(
    "refusal",
    [
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "max_tokens"], "msg": "Extra inputs are not permitted"}
            ]
        },
        {"detail": [{"loc": ["body", "max_tokens"], "msg": "extra fields not permitted", "type": "value_error.extra"}]},
        {
            "detail": [
                {"type": "string_type", "loc": ["body", "Other", "messages"], "msg": "Input should be a valid string"},
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "Chat", "max_tokens"],
                    "msg": "Extra inputs are not permitted",
                },
            ]
        },
        {
            "object": "error",
            "type": "invalid_request_error",
            "message": {
                "detail": [
                    {"type": "extra_forbidden", "loc": ["body", "max_tokens"], "msg": "Extra inputs are not permitted"}
                ]
            },
        },
        {"detail": "Unsupported parameter: max_tokens"},
        {"detail": [{"type": "extra_forbidden", "loc": "body.max_tokens", "msg": "Extra inputs are not permitted"}]},
        {"errors": {"max_tokens": ["unknown field"]}},
        {"detail": "create() got an unexpected keyword argument 'max_tokens'"},
        {"error": {"message": "Unsupported parameter: 'max_tokens'", "code": 400, "param": "max_tokens"}},
    ],
)
def test_a_refused_parameter_is_learnt_from_every_form(refusal: dict[str, Any], status: int) -> None:
    failure = failed(status, refusal if status != 200 else {"code": 400, **refusal})
    body = Body(ModelCard(engine="openai_api", model="m", sampling={"max_tokens": 16, "seed": 1}))
    assert failure.refusal is not None
    assert body.learn(*failure.refusal, body.of(request_of()))
    assert body.of(request_of()).keys() == {"model", "messages", "max_completion_tokens", "seed"}
    assert body.learnt == ["takes no max_tokens: max_completion_tokens is sent instead"]


@pytest.mark.parametrize("status", [422, 200])
def test_what_is_learnt_costs_no_try(status: int) -> None:
    forbidden = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}
    refusal = {"detail": [forbidden], "code": 422}
    with answering(lambda body: (status, refusal) if "seed" in body else (200, completion_of("number"))) as (
        root,
        asked,
    ):
        answer, notes = ask(f"{root}/v1", sampling={"seed": 1}, attempts=1)
    assert (answer.completion, len(asked), notes) == ("number", 2, ["takes no seed: it is left out"])


def test_a_refusal_of_one_prompt_is_an_error_of_it_alone() -> None:
    too_long = {"type": "string_too_long", "loc": ["body", "messages", 0, "content"], "msg": "At most 9 characters"}
    failure = failure_of(422, error_of(json.dumps({"detail": [too_long]})), {})
    assert (failure.verdict, failure.text) == ("never", "HTTP 422: messages.0.content: At most 9 characters")
