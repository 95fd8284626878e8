"""Sends one try of a request and reports what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import aiohttp

from promptaudit.engines import Answer, Attempt, Request
from promptaudit.engines.openai_api.body import Body
from promptaudit.engines.openai_api.bounded_http import MAX_ERROR_BYTES, BodyTooLarge
from promptaudit.engines.openai_api.completions import read_completion
from promptaudit.engines.openai_api.error_bodies import error_of
from promptaudit.engines.openai_api.faults import Failure, failure_of
from promptaudit.engines.pacing.lanes import Turn, clock, in_time
from promptaudit.registry.cards import StructuredOutput

MAX_KNOWN = 4096
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_REJECTED = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class Sending:
    """Sends tries of one card's requests and reports each result to the endpoint's pace, which bounds the try."""

    def __init__(self, body: Body, secrets: Sequence[str]) -> None:
        self._body, self._secrets = body, secrets
        self._known: dict[tuple[int, StructuredOutput | None, int], str] = {}

    async def send(self, turn: Turn, request: Request, failed: Sequence[Attempt]) -> Answer | Failure:
        """Sends one try and returns the answer, with `failed` as its attempts, or the failure."""
        pace, sent_at = turn
        body = self._body.of(request)
        sampling = self._sampling(request)
        # failures are returned, not raised from: the chain of an exception would carry the request and its headers
        try:
            raw = _JSON.encode(body).encode()
            async with in_time(turn):
                reply = await pace.endpoint.wire.post(raw)
        except BaseException as error:
            failure = self._fault(error, turn)
            if failure is None:
                raise
            return failure
        now = clock()
        if reply.status in _REJECTED:
            pace.rejected(sent_at, now, reply.status, reply.headers, len(raw) // 4)
        else:
            pace.accepted(sent_at, now, reply.headers, len(raw) // 4, status=reply.status)
        if not HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
            reported = error_of(reply.body[:MAX_ERROR_BYTES].decode("utf-8", "replace"))
            return self._learnt(failure_of(reply.status, reported, reply.headers), body)
        outcome = read_completion(
            reply.body,
            reply.headers.get("x-request-id"),
            self._secrets,
            [*request.labels, *(content for _, content in request.messages)],
            latency_ms=(now - sent_at) * 1000,
            sampling=sampling,
            attempts=tuple(failed),
        )
        if isinstance(outcome, Failure):
            return self._learnt(outcome, body)
        if request.answer_schema is not None and self._body.is_ignored(body, outcome):
            tokens = outcome.prompt_tokens or 0, outcome.completion_tokens or 0
            return Failure("again", "an answer that is no JSON object", reply.status, is_learnt=True, tokens=tokens)
        return outcome

    @staticmethod
    def _fault(error: BaseException, turn: Turn) -> Failure | None:
        # None for an exception that the other side did not cause
        (pace, sent_at), now = turn, clock()
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            pace.unreachable(sent_at, now)
            return Failure("again", f"{type(error).__name__}: {error}", is_unreachable=True)
        if isinstance(error, TimeoutError):
            pace.timed_out(sent_at, now)
            return Failure("again", f"no whole answer within {now - sent_at:.3g} s")
        pace.given_up(sent_at)
        if isinstance(error, UnicodeEncodeError):
            return Failure("never", "the prompt holds a lone surrogate, which no request can carry")
        if isinstance(error, BodyTooLarge):
            return Failure("never", str(error))
        if isinstance(error, (aiohttp.ClientError, OSError, ValueError)):
            return Failure("again", f"{type(error).__name__}: {error}")
        return None

    def _learnt(self, failure: Failure, body: Mapping[str, Any]) -> Failure:
        if failure.refusal is not None and self._body.learn(*failure.refusal, body):
            return replace(failure, verdict="again", is_learnt=True)
        return failure

    def _sampling(self, request: Request) -> str:
        # it differs by repetition, by schema and by what was learnt, and costs 6 µs
        way = None if request.answer_schema is None else self._body.way
        key = (request.repetition, way, len(self._body.learnt))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = self._body.sent_as(request)
        return known
