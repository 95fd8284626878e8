"""Wraps the HTTP client under the `openai` one: aiohttp's transport, no redirects, and no answer without end."""

from __future__ import annotations

import functools
import logging
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Any

import httpx2
from openai import DefaultAioHttpClient

from promptaudit.system.scrub import scrub

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = CHUNK_BYTES = 1024 * 1024
PACKINGS = ("", "identity", "gzip", "deflate")  # others unpack a few kilobytes to gigabytes in one step
KEPT_HEADERS = ("location", "retry-after", "retry-after-ms", "x-request-id")

# it logs a line a request, with the server's own reason phrase, which may quote a key
logging.getLogger("httpx2").setLevel(logging.WARNING)


class BodyTooLarge(Exception):
    """Signals a body over its cap, counted after unpacking; the rest of it was not read."""


async def capped(parts: AsyncIterable[bytes], most: int, what: str = "an answer") -> AsyncIterator[bytes]:
    """Yields the unpacked parts of a body as they come; raises BodyTooLarge once they exceed `most` bytes."""
    size = 0
    async for part in parts:
        size += len(part)
        if size > most:
            msg = f"{what} of more than {most} bytes"
            raise BodyTooLarge(msg)
        yield part


class BoundedClient(DefaultAioHttpClient):  # type: ignore[misc,valid-type,unused-ignore]
    """Reads at most 64 MB of a body, counted after decompression, so that no endpoint can fill the memory.

    With `streams` it passes a body on as it comes, for `capped` to read, and keeps the first megabyte of an error's
    body. It keeps four headers, scrubbed: the `openai` client logs the request id as the server wrote it.
    """

    secrets: Sequence[str] = ()
    streams = False

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:  # noqa: ANN401 - httpx2's own
        """Sends a request and reads the whole response, whatever `stream` says.

        Raises BodyTooLarge, and DecodingError for odd packings.
        """
        del stream
        response = await super().send(request, stream=True, **options)
        packing = response.headers.get("content-encoding", "").strip().lower()
        kept = {name: scrub(response.headers[name], self.secrets) for name in KEPT_HEADERS if name in response.headers}
        if packing not in PACKINGS:
            await response.aclose()
            msg = "an answer packed neither by gzip nor by deflate"
            raise httpx2.DecodingError(msg, request=request)
        if self.streams and response.is_success:
            response.headers = httpx2.Headers({**kept, "content-encoding": packing} if packing else kept)
            return response
        body = bytearray()
        try:
            async for part in capped(
                response.aiter_bytes(CHUNK_BYTES), MAX_ERROR_BYTES if self.streams else MAX_BODY_BYTES
            ):
                body += part
        except BodyTooLarge:
            if not self.streams:
                raise
        finally:
            await response.aclose()
        return httpx2.Response(response.status_code, headers=kept, content=bytes(body), request=request)


@functools.cache
def _certificates() -> ssl.SSLContext:
    # shared by every client: reading the authorities takes 20 ms and 500 kB
    return httpx2.create_ssl_context()


def bounded_client(
    max_connections: int, timeout_s: float, secrets: Sequence[str] = (), *, streams: bool = False
) -> BoundedClient:
    """Makes a client of up to `max_connections` connections that lets none of `secrets` out of a header.

    It gives up after `timeout_s` seconds in which nothing came. Proxies of the environment hold for every host but
    loopback ones.
    """
    # keep-alive is as wide as the pool: a narrower one reconnects on every other request
    limits = httpx2.Limits(max_connections=max_connections, max_keepalive_connections=max_connections)
    # no proxy reaches this machine's own loopback; the client would ask it unless NO_PROXY says so
    direct = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    client = BoundedClient(
        limits=limits, timeout=timeout_s, follow_redirects=False, mounts=direct, verify=_certificates()
    )
    client.secrets, client.streams = secrets, streams
    return client
