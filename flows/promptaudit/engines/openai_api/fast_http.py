"""Posts chat completions of one endpoint over aiohttp: no redirects, no cookies, and no answer without end.

The `openai` client gives the address and the headers; the bytes do not go through it. A request through it costs 1,450
µs of processor time (options, pydantic copies, httpx2's layers), this way 330 µs, of which aiohttp's own are 200.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from yarl import URL

from promptaudit.engines.openai_api.addresses import is_loopback
from promptaudit.engines.openai_api.bounded_http import MAX_BODY_BYTES, PACKINGS, capped

CONNECT_S = 10.0  # a host that drops packets is as dead as one that refuses
CHUNK_BYTES = 64 * 1024
GZIP = 0x1F  # its first byte


@dataclass(frozen=True, slots=True)
class Reply:
    """Holds an HTTP response, read whole and unpacked; header names match in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Holds one endpoint's connections, opened by the first post, for one event loop.

    A proxy of the environment is used unless the host is this machine or NO_PROXY names it.
    """

    def __init__(self, url: str, headers: Mapping[str, str], max_connections: int, connect_s: float) -> None:
        self._url, self._headers = URL(url), dict(headers)
        self._max_connections = max_connections
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_S, connect_s))
        self._proxy = proxy_of(self._url)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes) -> Reply:
        """Posts a body and reads the reply; raises BodyTooLarge over 64 MB, aiohttp.ClientError and OSError."""
        session = self._session or self._open()
        async with session.post(self._url, data=body, proxy=self._proxy, allow_redirects=False) as response:
            packing = response.headers.get("content-encoding", "").strip().lower()
            length = response.content_length
            if not packing and length is not None and length <= MAX_BODY_BYTES:
                content = await response.read()
            else:
                content = await _read(response, packing)
            return Reply(response.status, response.headers, content)

    async def close(self) -> None:
        """Closes the connections; a second call does nothing."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        context = httpx2.create_ssl_context() if self._url.scheme == "https" else False
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._max_connections, ssl=context),
            # the jar looks through its cookies at every request, and an endpoint has none to set
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=self._timeout,
            # `_unpacked` counts the bytes
            auto_decompress=False,
        )
        return self._session


def proxy_of(url: URL) -> URL | None:
    """Finds the proxy that the environment names for a URL; None for this machine and for hosts in NO_PROXY."""
    host = url.host or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy:
        return None
    return URL(proxy if "://" in proxy else f"http://{proxy}")


async def _read(response: aiohttp.ClientResponse, packing: str) -> bytes:
    # counted as it comes, unpacked; a connection with more to come is not used again
    if packing not in PACKINGS:
        msg = "an answer packed neither by gzip nor by deflate"
        raise aiohttp.ClientPayloadError(msg)
    parts: AsyncIterable[bytes] = response.content.iter_chunked(CHUNK_BYTES)
    if packing not in ("", "identity"):
        parts = _unpacked(parts, packing)
    return b"".join([part async for part in capped(parts, MAX_BODY_BYTES)])


async def _unpacked(parts: AsyncIterable[bytes], packing: str) -> AsyncIterator[bytes]:
    # at most one byte over the cap of a body in all: every member of gzip, and deflate with zlib's header or without
    unpacking, left = None, MAX_BODY_BYTES + 1
    async for part in parts:
        rest = part
        while rest and (unpacking is None or not unpacking.eof or rest[0] == GZIP):
            if unpacking is None or unpacking.eof:
                is_raw = packing == "deflate" and rest[0] != GZIP and rest[0] % 16 != zlib.DEFLATED
                # 32: gzip or zlib, as it says itself
                unpacking = zlib.decompressobj(-zlib.MAX_WBITS if is_raw else zlib.MAX_WBITS | 32)
            try:
                plain = unpacking.decompress(rest, left)
            except zlib.error:
                msg = "an answer that cannot be unpacked"
                raise aiohttp.ClientPayloadError(msg) from None
            left -= len(plain)
            yield plain
            rest = unpacking.unused_data
    if unpacking is None or not unpacking.eof:
        msg = "a packed answer that ends too early"
        raise aiohttp.ClientPayloadError(msg)
