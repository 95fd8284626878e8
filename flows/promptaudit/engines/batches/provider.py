"""Calls a provider's file and batch endpoints: bounded, tried again, and failing in one line without the key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import IO, Any, NoReturn, Protocol, TypeVar

import aiohttp
import httpx2
from openai import APIStatusError, OpenAIError, omit

from promptaudit.engines.openai_api.addresses import advice, key_of
from promptaudit.engines.openai_api.bounded_http import CHUNK_BYTES, BodyTooLarge, bounded_client, capped
from promptaudit.engines.openai_api.endpoints import open_endpoints
from promptaudit.engines.openai_api.error_bodies import error_of
from promptaudit.engines.openai_api.faults import Failure, failure_of
from promptaudit.engines.pacing.retry import wait_before
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.system.scrub import one_line

KEPT_DAYS = 31  # providers delete the files of older batches
MAX_PAGES = 1000
MAX_DOWNLOAD_BYTES = 16 * 1024**3
TRANSFER_S = 3600.0  # seconds for the largest upload or download

T = TypeVar("T")


class _Raw(Protocol):
    @property
    def content(self) -> bytes: ...


class Provider:
    """Calls the file and batch endpoints of the one address of a card.

    The constructor raises EngineError for a missing key or a malformed `base_url`. `upload`, `batch`, `batches` and
    `download` raise it after `limits.max_attempts` tries; `look` and `create` return the failure instead.
    """

    def __init__(self, card: ModelCard) -> None:
        key = key_of(card)
        self._card = card
        self.secrets = (key,) if key else ()
        self._http = bounded_client(4, card.limits.timeout_s, self.secrets)
        (endpoint,) = open_endpoints(card, key, self._http)
        self.host, self._client = endpoint.host, endpoint.client
        self._streaming = bounded_client(1, card.limits.timeout_s, self.secrets, streams=True)
        self._files = self._client.with_options(http_client=self._streaming)

    async def upload(self, file: IO[bytes]) -> dict[str, Any]:
        """Uploads a file of requests from disk, a piece at a time, and returns the provider's record of it."""

        async def send() -> dict[str, Any]:
            file.flush()
            file.seek(0)
            named = ("requests.jsonl", file, "application/jsonl")
            files = self._client.files.with_raw_response
            return _object(await files.create(file=named, purpose="batch", timeout=TRANSFER_S))

        return await self._asked("the upload of a batch", send, TRANSFER_S)

    async def create(self, file_id: str, endpoint: Any, metadata: Mapping[str, str]) -> dict[str, Any] | Failure:  # noqa: ANN401 - one of the client's literals
        """Makes a batch in one try. Before a second try the caller has to check whether the batch exists."""

        async def make() -> dict[str, Any]:
            batches = self._client.batches.with_raw_response
            return _object(
                await batches.create(
                    completion_window="24h", endpoint=endpoint, input_file_id=file_id, metadata=dict(metadata)
                )
            )

        return await self._once(make, self._card.limits.timeout_s)

    async def look(self, batch_id: str) -> dict[str, Any] | Failure:
        """Fetches a batch as it stands, in one try."""
        return await self._once(lambda: self._retrieve(batch_id), self._card.limits.timeout_s)

    async def batch(self, batch_id: str) -> dict[str, Any]:
        """Fetches a batch as it stands, in up to `limits.max_attempts` tries."""
        return await self._asked(f"batch {batch_id}", lambda: self._retrieve(batch_id))

    async def batches(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the batches of the last 31 days, newest first."""
        oldest = (datetime.now(UTC) - timedelta(days=KEPT_DAYS)).timestamp()
        after = ""
        for _ in range(MAX_PAGES):
            page = await self._asked("the list of batches", lambda: self._page(after))  # noqa: B023 - called at once
            batches = [batch for batch in page.get("data") or [] if isinstance(batch, dict)]
            for batch in batches:
                created = batch.get("created_at")
                if isinstance(created, int) and created < oldest:
                    return
                yield batch
            last = batches[-1].get("id") if batches else None
            if page.get("has_more") is not True or not isinstance(last, str) or last == after:
                return
            after = last

    async def download(self, file_id: str, file: IO[bytes]) -> None:
        """Writes the content of a file to `file`, or nothing if the provider no longer has it."""

        async def fetch() -> None:
            file.seek(0)
            file.truncate()
            async with self._files.files.with_streaming_response.content(file_id) as response:
                async for part in capped(response.iter_bytes(CHUNK_BYTES), MAX_DOWNLOAD_BYTES, "a file"):
                    file.write(part)
            file.seek(0)

        failure = await self._tried(fetch, TRANSFER_S)
        if failure is None:
            return
        file.seek(0)
        file.truncate()
        if failure.http_status != HTTPStatus.NOT_FOUND:
            self.fail("the results of a batch", failure)

    async def close(self) -> None:
        """Closes the connections; a second call does nothing."""
        await self._http.aclose()
        await self._streaming.aclose()

    def error(self, what: str, failure: Failure) -> EngineError:
        """Makes the EngineError for a failure, in one line."""
        text = one_line(failure.text, self.secrets)
        look_at = advice(self._card, self.host, failure.meant_status, text)
        return EngineError(f"model '{self._card.model}' at {self.host}: {what}: {text}{look_at}")

    def fail(self, what: str, failure: Failure) -> NoReturn:
        """Raises the EngineError for a failure."""
        raise self.error(what, failure)

    async def _retrieve(self, batch_id: str) -> dict[str, Any]:
        return _object(await self._client.batches.with_raw_response.retrieve(batch_id))

    async def _page(self, after: str) -> dict[str, Any]:
        return _object(await self._client.batches.with_raw_response.list(limit=100, after=after or omit))

    async def _asked(
        self, what: str, ask: Callable[[], Awaitable[dict[str, Any]]], seconds: float | None = None
    ) -> dict[str, Any]:
        outcome = await self._tried(ask, seconds or self._card.limits.timeout_s)
        if isinstance(outcome, Failure):
            self.fail(what, outcome)
        return outcome

    async def _tried(self, ask: Callable[[], Awaitable[T]], seconds: float) -> T | Failure:
        outcome = await self._once(ask, seconds)
        for attempt in range(2, self._card.limits.max_attempts + 1):
            if not isinstance(outcome, Failure) or outcome.verdict != "again":
                break
            await asyncio.sleep(wait_before(attempt, outcome.retry_after))
            outcome = await self._once(ask, seconds)
        return outcome

    async def _once(self, ask: Callable[[], Awaitable[T]], seconds: float) -> T | Failure:
        # failures are returned, not raised from: the chain of an exception would carry the request and its headers
        try:
            async with asyncio.timeout(seconds):
                return await ask()
        except APIStatusError as refused:
            response = refused.response
        except TimeoutError:
            return Failure("again", f"no whole answer within {seconds:g} s")
        except BodyTooLarge as error:
            return Failure("stop", str(error))
        except (OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, _NoObject) as error:
            return Failure("again", _root(error))
        fault = error_of(response.content.decode("utf-8", "replace"))
        return failure_of(response.status_code, fault, response.headers)


class _NoObject(Exception):
    """A body that is no JSON object."""


def _object(response: _Raw) -> dict[str, Any]:
    try:
        parsed = json.loads(response.content)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        msg = f"an answer of {len(response.content)} bytes that is no JSON object"
        raise _NoObject(msg) from None
    return parsed


def _root(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) if isinstance(error, _NoObject) else f"{type(error).__name__}: {error}"
