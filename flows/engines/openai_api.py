"""Asks any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NoReturn

import aiohttp
import httpx2
from openai import APIStatusError, OpenAIError

from flows.engines import Answer, Attempt, Engine, MayTry, Request, always
from flows.engines.body import Body
from flows.engines.completions import read_completion
from flows.engines.endpoints import Endpoint, key_env, key_of, open_endpoints
from flows.engines.faults import Failure, described, error_of, judged
from flows.engines.http import BodyTooLarge, bounded_client
from flows.engines.pace import Pace
from flows.engines.retry import retry_after, wait_before
from flows.engines.scrub import one_line
from models_registry.cards import ModelCard, Sampling
from models_registry.errors import EngineError


class OpenAIEngine(Engine):
    """A model behind one or several OpenAI-compatible endpoints, asked in turn; for one event loop.

    Raises EngineError where no request can succeed: from the constructor for a missing key or a malformed `base_url`,
    from `answer` for a wrong key, no quota, an unknown model, a parameter the model does not take, a redirect, or a
    server that never took a connection. No error, attempt or answer holds the key.
    """

    def __init__(self, card: ModelCard, may_try: MayTry = always) -> None:
        self.max_connections = card.limits.max_connections
        self._card = card
        self._may_try = may_try
        self._body = Body(card)
        self.notes = self._body.learnt
        key = key_of(card)
        self._secrets = (key,) if key else ()
        self._http = bounded_client(card.limits.max_connections, card.limits.timeout_s, self._secrets)
        self._endpoints = open_endpoints(card, key, self._http)
        self._turn = itertools.count()
        self._pace = Pace(card.limits)
        self._is_reached = False

    async def answer(self, request: Request) -> Answer:
        """The answer to one request after at most `limits.max_attempts` tries; safe to call from many tasks at once."""
        failed: list[Attempt] = []
        failure = None
        turn = next(self._turn)
        for attempt in range(1, self._card.limits.max_attempts + 1):
            # the next try goes to the next endpoint, so that a dead one costs a request one try
            endpoint = self._endpoints[(turn + attempt - 1) % len(self._endpoints)]
            if attempt > 1 and not self._may_try():
                break
            await self._pace.take(_tokens(request, self._card.sampling))
            attempted_at = datetime.now(UTC)
            outcome = await self._ask(endpoint, request)
            if isinstance(outcome, Answer):
                return replace(outcome, attempts=tuple(failed))
            failure = outcome
            if failure.verdict == "stop":
                self._stop(endpoint, failure)
            text = one_line(failure.text, self._secrets)
            if failure.verdict == "never":
                return Answer(error=text, attempts=tuple(failed))
            is_last = attempt == self._card.limits.max_attempts
            wait = 0.0 if is_last else wait_before(attempt + 1, failure.retry_after)
            failed.append(Attempt(attempted_at, failure.http_status, text, wait * 1000))
            await asyncio.sleep(wait)
        if failure is not None and failure.is_unreachable and not self._is_reached:
            self._stop(endpoint, failure)
        return Answer(attempts=tuple(failed))

    async def close(self) -> None:
        """Closes the connections; a second call does nothing."""
        await self._http.aclose()

    async def _ask(self, endpoint: Endpoint, request: Request) -> Answer | Failure:
        started = time.perf_counter()
        response = await self._send(endpoint, request)
        latency_ms = (time.perf_counter() - started) * 1000
        if isinstance(response, Failure):
            return response
        self._is_reached = True
        if response.is_success:
            sent = [*request.labels, *(content for _, content in request.messages)]
            outcome = read_completion(response.content, response.headers.get("x-request-id"), self._secrets, sent)
            return replace(outcome, latency_ms=latency_ms) if isinstance(outcome, Answer) else outcome
        error = error_of(response.content.decode("utf-8", "replace"))
        text = f"HTTP {response.status_code}: {described(error)}"
        if response.is_redirect:
            text = f"HTTP {response.status_code}: a redirect, which is not followed; correct base_url"
        verdict = judged(response.status_code, error)
        return Failure(verdict, text, response.status_code, retry_after(response.headers))

    async def _send(self, endpoint: Endpoint, request: Request) -> httpx2.Response | Failure:
        # failures are returned, not raised from: the chain of an exception would carry the request and its headers
        body = self._body.of(request)
        timeout_s = self._card.limits.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                # chat.completions.create walks the types of every message first: a third of the time of a request
                response = await endpoint.client.post("/chat/completions", cast_to=httpx2.Response, body=body)
        except APIStatusError as error:
            response = error.response
        except TimeoutError:
            return Failure("again", f"no whole answer within {timeout_s:g} s")
        except UnicodeEncodeError:
            return Failure("never", "the prompt holds a lone surrogate, which no request can carry")
        except BodyTooLarge as error:
            return Failure("never", str(error))
        except (OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            root = _root(error)
            is_unreachable = isinstance(root, aiohttp.ClientConnectorError)
            return Failure("again", f"{type(root).__name__}: {root}", is_unreachable=is_unreachable)
        return response

    def _stop(self, endpoint: Endpoint, failure: Failure) -> NoReturn:
        advice = (
            f"; its key is read from {key_env(self._card)}" if failure.http_status == HTTPStatus.UNAUTHORIZED else ""
        )
        msg = f"model '{self._card.model}' at {endpoint.host}: {one_line(failure.text, self._secrets)}{advice}"
        raise EngineError(msg)


def _tokens(request: Request, sampling: Sampling) -> int:
    chars = sum(len(content) for _, content in request.messages)
    return math.ceil(chars / 4) + (sampling.token_cap or 0)


def _root(error: BaseException) -> BaseException:
    chain = list(_causes(error))
    # the transport's own words; the client around it says "Connection error." and calls a reset a timeout
    return next((cause for cause in chain if isinstance(cause, aiohttp.ClientError)), chain[-1])


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
