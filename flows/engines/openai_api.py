"""Asks any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import urlsplit

import aiohttp
import httpx2
from openai import APIStatusError, AsyncOpenAI, Omit, OpenAIError

from flows.engines import Answer, Attempt, Request
from flows.engines.completions import read_completion
from flows.engines.faults import Failure, described, error_of, judged
from flows.engines.http import BodyTooLarge, bounded_client, is_loopback
from flows.engines.pace import Pace
from flows.engines.retry import retry_after, wait_before
from flows.engines.scrub import one_line
from models_registry.cards import ModelCard, Sampling
from models_registry.errors import EngineError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_ENV = "OPENAI_API_KEY"
NO_KEY = "none"
# what the client would tell every host about this machine
_TELLTALES = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async", "Retry-Count", "Read-Timeout")


@dataclass(frozen=True, slots=True)
class _Endpoint:
    host: str  # with its port, never with credentials
    client: AsyncOpenAI


class OpenAIEngine:
    """A model behind one or several OpenAI-compatible endpoints, asked in turn; for one event loop.

    Raises EngineError where no request can succeed: from the constructor for a missing key or a malformed `base_url`,
    from `answer` for a wrong key, no quota, an unknown model, a parameter the model does not take, a redirect, or a
    server that never took a connection. No error, attempt or answer holds the key.
    """

    def __init__(self, card: ModelCard) -> None:
        self.max_connections = card.limits.max_connections
        self._card = card
        self._key_env = card.api_key_env or DEFAULT_KEY_ENV
        key = os.environ.get(self._key_env, "").strip()
        self._secrets = (key,) if key else ()
        if not (key.isascii() and (key.isprintable() or not key)):
            msg = f"model '{card.model}': the key in {self._key_env} holds characters no header can carry"
            raise EngineError(msg)
        urls = card.base_url or (os.environ.get("OPENAI_BASE_URL", "").strip() or DEFAULT_BASE_URL,)
        for url in urls:
            self._check(url, key)
        self._http = bounded_client(card.limits.max_connections, card.limits.timeout_s)
        self._endpoints = itertools.cycle([self._endpoint(url, key or NO_KEY) for url in urls])
        self._pace = Pace(card.limits)
        self._is_reached = False

    async def answer(self, request: Request) -> Answer:
        """The answer to one request after at most `limits.max_attempts` tries; safe to call from many tasks at once."""
        failed: list[Attempt] = []
        failure = None
        for attempt in range(1, self._card.limits.max_attempts + 1):
            endpoint = next(self._endpoints)
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

    def _check(self, url: str, key: str) -> None:
        problem = ""
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            problem = "base_url is no URL"
        else:
            if parts.scheme not in ("http", "https") or not host:
                problem = "base_url must be http://host or https://host"
            elif parts.username is not None or parts.password is not None:
                # a card is landed as it is written
                problem = "base_url holds credentials; put the key into a variable and name it in api_key_env"
            elif not key and not is_loopback(host):
                problem = f"{host} needs a key: set {self._key_env}"
        if problem:
            msg = f"model '{self._card.model}': {problem}"
            raise EngineError(msg)

    def _endpoint(self, url: str, key: str) -> _Endpoint:
        parts = urlsplit(url)
        headers: dict[str, Any] = {f"X-Stainless-{name}": Omit() for name in _TELLTALES}
        headers |= {"User-Agent": "promptaudit", "Accept-Encoding": "gzip, deflate"}
        if parts.hostname != urlsplit(DEFAULT_BASE_URL).hostname:
            headers |= {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
        client = AsyncOpenAI(
            api_key=key,
            base_url=url,
            http_client=self._http,
            max_retries=0,
            timeout=self._card.limits.timeout_s,
            default_headers=headers,
        )
        return _Endpoint(parts.netloc, client)

    async def _ask(self, endpoint: _Endpoint, request: Request) -> Answer | Failure:
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

    async def _send(self, endpoint: _Endpoint, request: Request) -> httpx2.Response | Failure:
        # failures are returned, not raised from: the chain of an exception would carry the request and its headers
        messages = [{"role": role, "content": content} for role, content in request.messages]
        body = {"model": self._card.model, "messages": messages, **sent_sampling(self._card.sampling, request)}
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

    def _stop(self, endpoint: _Endpoint, failure: Failure) -> NoReturn:
        advice = f"; its key is read from {self._key_env}" if failure.http_status == HTTPStatus.UNAUTHORIZED else ""
        msg = f"model '{self._card.model}' at {endpoint.host}: {one_line(failure.text, self._secrets)}{advice}"
        raise EngineError(msg)


def sent_sampling(sampling: Sampling, request: Request) -> dict[str, Any]:
    """The sampling parameters of a request: those the card writes.

    `seed` is the card's plus the repetition less 1, so that repetitions are different draws and each can be drawn again.
    """
    sent: dict[str, Any] = {name: value for name, value in sampling if value is not None}
    if "seed" in sent:
        sent["seed"] += request.repetition - 1
    if "stop" in sent:
        sent["stop"] = list(sent["stop"])
    return sent


def _tokens(request: Request, sampling: Sampling) -> int:
    chars = sum(len(content) for _, content in request.messages)
    return math.ceil(chars / 4) + (sampling.max_tokens or 0)


def _root(error: BaseException) -> BaseException:
    chain = list(_causes(error))
    # the transport's own words; the client around it says "Connection error." and calls a reset a timeout
    return next((cause for cause in chain if isinstance(cause, aiohttp.ClientError)), chain[-1])


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
