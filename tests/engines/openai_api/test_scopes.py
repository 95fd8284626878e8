"""A failure is of this try, of this prompt, or of the account, whatever status a server gives it."""

from __future__ import annotations

import asyncio
import json
import time
from http import HTTPStatus
from typing import Any

import pytest

from promptaudit.engines import Answer
from promptaudit.engines.openai_api.completions import read_completion
from promptaudit.engines.openai_api.engine import MOST_ALIKE, OpenAIEngine
from promptaudit.engines.openai_api.error_bodies import error_of
from promptaudit.engines.openai_api.faults import Failure, settled, verdict_on
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from tests.support.engine_requests import request_of
from tests.support.loopback import QuietHandler, served_in_threads

BODIES: list[tuple[str, int, dict[str, Any]]] = [
    # of the account: no other request gets past it
    ("stop", 400, {"message": "The budget of this key is used up: 10.01 of 10.0", "type": "budget_exceeded"}),
    ("stop", 400, {"message": "ExceededBudget: User=u over budget. Spend=1.2, Budget=1.0"}),
    ("stop", 429, {"message": "Budget has been exceeded! Current cost: 5.1, Max budget: 5.0"}),
    ("stop", 400, {"message": "Your credit balance is too low to access the API.", "type": "invalid_request_error"}),
    ("stop", 403, {"message": "Insufficient balance: please top up."}),
    ("stop", 400, {"message": "User location is not supported for the API use.", "status": "FAILED_PRECONDITION"}),
    ("stop", 400, {"message": "Invocation of model ID m with on-demand throughput isn't supported."}),
    ("stop", 400, {"message": "API key expired. Please renew the API key.", "status": "INVALID_ARGUMENT"}),
    ("stop", 400, {"message": "The model `m` has been decommissioned and is no longer supported."}),
    ("stop", 410, {"message": "This engine is gone."}),
    ("stop", 403, {"message": "Your account has been suspended for violating our usage policies."}),
    ("stop", 400, {"message": "Your trial has expired."}),
    ("stop", 400, {"message": "This month's spending limit has been reached."}),
    (
        "stop",
        400,
        {
            "message": "This model's maximum context length is 4096 tokens. However, you requested 9020 tokens "
            "(20 in the messages, 9000 in the completion)."
        },
    ),
    ("stop", 403, {"message": "Your account has been flagged for potential abuse."}),
    ("stop", 403, {"message": "Your access was terminated due to violation of our policies."}),
    ("stop", 403, {"message": "Your organization has been disabled due to violations of our usage policies"}),
    ("stop", 403, {"message": "Project does not have access to model omni-moderation-latest"}),
    ("stop", 400, {"message": "Unsupported model: text-moderation-stable"}),
    ("stop", 403, {"message": "You must accept the content policy in the console."}),
    # of this prompt, which the provider blocks
    ("refused", 400, {"message": "The prompt was filtered.", "code": "content_filter"}),
    ("refused", 400, {"message": "litellm.ContentPolicyViolationError: the response was filtered"}),
    ("refused", 403, {"message": "Your input was flagged by moderation: hate"}),
    ("refused", 400, {"message": "Input data may contain inappropriate content.", "code": "data_inspection_failed"}),
    ("refused", 400, {"message": "It is against our content policy to answer 'my credit balance is too low'"}),
    (
        "refused",
        400,
        {"message": "The response was filtered due to the prompt triggering our content management policy."},
    ),
    # of this prompt, which the server cannot take
    ("never", 400, {"message": "This model's maximum context length is 4096 tokens, your prompt has 5000."}),
    ("never", 400, {"message": "maximum context length is 4096 tokens (4000 in the messages, 200 in the completion)."}),
    ("never", 422, {"message": "messages.0: a string is wanted"}),
    ("never", 400, {"message": "Bad body: [{'role': 'user', 'content': 'Does this hold harmful content?'}]"}),
    ("never", 422, {"message": "invalid value in content: 'Was the tweet flagged by them?'"}),
    ("never", 400, {"message": "Invalid prompt: 'My account was suspended yesterday'"}),
    ("never", 400, {"message": "maximum context length is 8192 tokens. See our content policy."}),
    # of this try
    ("again", 400, {"message": "Rate exceeded", "code": "ThrottlingException"}),
    ("again", 429, {"message": "Too many requests"}),
    ("again", 429, {"message": "You exceeded your token budget per minute; slow down"}),
    ("again", 429, {"message": "Usage limit reached for requests per minute. Try again in 20 seconds."}),
    ("again", 409, {"message": "deployment is being retired, retry"}),
    ("again", 500, {"message": "The budget service is down"}),
]


@pytest.mark.parametrize(("verdict", "status", "error"), BODIES, ids=lambda each: str(each)[:60])
def test_the_scope_of_an_error(verdict: str, status: int, error: dict[str, Any]) -> None:
    assert verdict_on(status, error_of(json.dumps({"error": error}))) == verdict


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT", "index": 0, "message": None}]},
        {"choices": [{"finish_reason": "content_filter", "index": 0}]},
        {"choices": [{"finish_reason": "SAFETY", "index": 0, "message": {"content": None}}]},
        {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 0}},
        {"choices": [], "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
        {"error": {"code": "content_filter", "message": "the prompt was filtered", "status": 400}},
    ],
)
def test_a_blocked_prompt_of_any_form_is_a_refusal(body: dict[str, Any]) -> None:
    outcome = read_completion(json.dumps(body).encode(), None, (), ())
    answer = settled(outcome.verdict, outcome.text) if isinstance(outcome, Failure) else outcome
    assert (answer.completion, answer.is_refused, answer.finish_reason) == ("", True, "content_filter")


@pytest.mark.parametrize(
    "rest",
    [
        {"usage": {"prompt_tokens": 0}},
        {"usage": {"prompt_tokens": 12, "completion_tokens": 55}},
        {"usage": {"prompt_tokens": 12}, "error": {"code": 502}},
    ],
)
def test_no_choice_at_all_is_asked_again(rest: dict[str, Any]) -> None:
    outcome = read_completion(json.dumps({"choices": [], **rest}).encode(), None, (), ())
    assert isinstance(outcome, Failure)
    assert outcome.verdict == "again"


@pytest.mark.parametrize(
    "text", ["budget" + "_a" * 500, "exceed" + " a" * 500, "'" * 10_000, "[" * 10_000, "{a" * 5000]
)
def test_the_scope_of_a_hostile_message_is_found_at_once(text: str) -> None:
    began = time.process_time()
    verdict_on(400, {"message": text, "code": text})
    assert time.process_time() - began < 1


class Counting(QuietHandler):
    """Refuses every prompt with a number above `good`, each with a text of its own, in words that nobody knows."""

    good = 10
    n_asked = 0

    def do_POST(self) -> None:  # noqa: N802 - as http.server calls it
        """Answers or refuses."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = int(body["messages"][-1]["content"].rpartition(" ")[2])
        type(self).n_asked += 1
        is_good = number < self.good or number % 7 == 0
        status = HTTPStatus.OK if is_good else HTTPStatus.BAD_REQUEST
        choice = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
        said = {"choices": [choice]} if is_good else {"error": {"message": f"case {number}: plan 9 does not cover it"}}
        raw = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def asked(base_url: str, numbers: list[int]) -> list[Answer]:
    async def run() -> list[Answer]:
        engine = OpenAIEngine(ModelCard(engine="openai_api", model="m", base_url=base_url))
        try:
            return [await engine.answer(request_of(f"number {number}")) for number in numbers]
        finally:
            await engine.close()

    return asyncio.run(run())


def test_requests_that_are_all_refused_in_the_same_words_end_the_asking() -> None:
    handler = type("Refusing", (Counting,), {"n_asked": 0})
    numbers = [*range(10), *(10 * n + 1 for n in range(1, 100) if (10 * n + 1) % 7)]
    with served_in_threads(handler) as port, pytest.raises(EngineError, match="plan 9 does not cover it"):
        asked(f"http://127.0.0.1:{port}/v1", numbers)
    assert handler.n_asked == 10 + MOST_ALIKE


def test_requests_that_are_refused_between_answers_are_errors_of_their_own() -> None:
    handler = type("Refusing", (Counting,), {"n_asked": 0})
    with served_in_threads(handler) as port:
        answers = asked(f"http://127.0.0.1:{port}/v1", list(range(100)))
    assert sum(answer.error is not None for answer in answers) == sum(n >= 10 and n % 7 != 0 for n in range(100))
