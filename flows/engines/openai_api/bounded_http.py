"""The HTTP client under the `openai` one: aiohttp's transport, no redirects, and no answer without end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import httpx2
from openai import DefaultAioHttpClient

from flows.engines.scrub import scrub

MAX_BODY_BYTES = 64 * 1024 * 1024
PACKINGS = ("", "identity", "gzip", "deflate")  # others unpack a few kilobytes to gigabytes in one step
KEPT_HEADERS = ("location", "retry-after", "retry-after-ms", "x-request-id")

# one line a request, and it quotes whatever reason phrase the server made up: a key too
logging.getLogger("httpx2").setLevel(logging.WARNING)


class BodyTooLarge(Exception):
    """An answer over 64 MB, unpacked; the rest of it was not read."""


class BoundedClient(DefaultAioHttpClient):  # type: ignore[misc,valid-type,unused-ignore]
    """Reads at most 64 MB of a body, counted after decompression, so that no endpoint can fill the memory.

    Of the headers four are kept, scrubbed: the `openai` client logs the request id as the server wrote it.
    """

    secrets: Sequence[str] = ()

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:  # noqa: ANN401 - httpx2's own
        """The response, read whole whatever `stream` says; raises BodyTooLarge."""
        del stream
        response = await super().send(request, stream=True, **options)
        parts: list[bytes] = []
        size = 0
        try:
            if response.headers.get("content-encoding", "").strip().lower() not in PACKINGS:
                msg = "an answer packed neither by gzip nor by deflate"
                raise httpx2.DecodingError(msg, request=request)
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    msg = f"an answer of more than {MAX_BODY_BYTES} bytes"
                    raise BodyTooLarge(msg)
                parts.append(part)
        finally:
            await response.aclose()
        headers = {
            name: scrub(response.headers[name], self.secrets) for name in KEPT_HEADERS if name in response.headers
        }
        return httpx2.Response(
            response.status_code,
            headers=headers,
            content=b"".join(parts),
            request=response.request,
        )


def bounded_client(max_connections: int, timeout_s: float, secrets: Sequence[str] = ()) -> BoundedClient:
    """A client of up to `max_connections` connections that lets none of `secrets` out of a header.

    Proxies of the environment hold for every host but loopback ones.
    """
    # keep-alive is as wide as the pool: a narrower one reconnects on every other request
    limits = httpx2.Limits(max_connections=max_connections, max_keepalive_connections=max_connections)
    # no proxy reaches this machine's own loopback; the client would ask it unless NO_PROXY says so
    direct = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    client = BoundedClient(limits=limits, timeout=timeout_s, follow_redirects=False, mounts=direct)
    client.secrets = secrets
    return client
