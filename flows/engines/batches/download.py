"""Downloads a file of any size to disk: flat memory, no redirects, no endless or bomb-packed body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from flows.engines.openai_api.bounded_http import KEPT_HEADERS, PACKINGS
from flows.engines.scrub import scrub

MAX_BYTES = 16 * 1024**3
MAX_ERROR_BYTES = 1024 * 1024
CHUNK_BYTES = 1024 * 1024


class FileTooLarge(Exception):
    """A file over 16 GB, unpacked; the rest of it was not read."""


class StreamingClient(DefaultAioHttpClient):  # type: ignore[misc,valid-type,unused-ignore]
    """Hands bodies on as they come. An error's body is read here, up to 1 MB, since the `openai` client reads it whole."""

    secrets: Sequence[str] = ()

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401 - httpx2's own
        """The response with four of its headers, scrubbed, and how it is packed; raises DecodingError for other packings."""
        response = await super().send(request, **options)
        packing = response.headers.get("content-encoding", "").strip().lower()
        if packing not in PACKINGS:
            await response.aclose()
            msg = "a file packed neither by gzip nor by deflate"
            raise httpx2.DecodingError(msg, request=request)
        kept = {name: scrub(response.headers[name], self.secrets) for name in KEPT_HEADERS if name in response.headers}
        if response.is_success:
            response.headers = httpx2.Headers({**kept, "content-encoding": packing} if packing else kept)
            return response
        body = bytearray()
        try:
            async for part in response.aiter_bytes(CHUNK_BYTES):
                body += part
                if len(body) > MAX_ERROR_BYTES:
                    break
        finally:
            await response.aclose()
        return httpx2.Response(
            response.status_code, headers=kept, content=bytes(body[:MAX_ERROR_BYTES]), request=request
        )


def streaming_client(timeout_s: float, secrets: Sequence[str] = ()) -> StreamingClient:
    """A client of one connection that gives up after `timeout_s` seconds in which nothing came."""
    direct = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    limits = httpx2.Limits(max_connections=1)
    client = StreamingClient(limits=limits, timeout=timeout_s, follow_redirects=False, mounts=direct)
    client.secrets = secrets
    return client


async def download(client: AsyncOpenAI, file_id: str, file: IO[bytes]) -> None:
    """Writes the content of a provider's file to `file`, from its beginning; raises FileTooLarge over 16 GB."""
    file.seek(0)
    file.truncate()
    async with client.files.with_streaming_response.content(file_id) as response:
        async for part in response.iter_bytes(CHUNK_BYTES):
            if file.tell() + len(part) > MAX_BYTES:
                msg = f"a file of more than {MAX_BYTES} bytes"
                raise FileTooLarge(msg)
            file.write(part)
    file.seek(0)
