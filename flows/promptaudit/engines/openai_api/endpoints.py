"""Turns a model card into its endpoints, each with its key and nothing else of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from openai import AsyncOpenAI, Omit

from promptaudit.engines.openai_api.addresses import DEFAULT_BASE_URL, base_urls, refuse_addresses
from promptaudit.engines.openai_api.bounded_http import BoundedClient
from promptaudit.engines.openai_api.fast_http import Wire
from promptaudit.registry.cards import ModelCard

NO_KEY = "none"
_PLATFORM_HEADERS = (
    "Lang",
    "Package-Version",
    "OS",
    "Arch",
    "Runtime",
    "Runtime-Version",
    "Async",
    "Retry-Count",
    "Read-Timeout",
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Holds one base URL; `host` has its port and never credentials.

    Chat completions go over `wire`, everything else through `client`.
    """

    host: str
    client: AsyncOpenAI
    wire: Wire


def open_endpoints(card: ModelCard, key: str, http: BoundedClient) -> list[Endpoint]:
    """Opens the card's endpoints in its order, else OPENAI_BASE_URL, else OpenAI's own.

    Raises EngineError in one line for a URL that is malformed or holds credentials, and for a host other than this
    machine without a key.
    """
    refuse_addresses(card, key)
    return [_opened(card, url, key or NO_KEY, http) for url in base_urls(card)]


def _opened(card: ModelCard, url: str, key: str, http: BoundedClient) -> Endpoint:
    parts = urlsplit(url)
    # what the client would add on its own: this machine's platform, and whatever its variables say, to any host
    ambient = [line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")]
    headers: dict[str, Any] = {name: Omit() for name in ambient if name}
    headers |= {f"X-Stainless-{name}": Omit() for name in _PLATFORM_HEADERS}
    if parts.hostname != urlsplit(DEFAULT_BASE_URL).hostname:
        headers |= {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
    headers = {name: value for name, value in headers.items() if name.casefold() != "authorization"}
    headers |= {"Authorization": f"Bearer {key}", "User-Agent": "promptaudit", "Accept-Encoding": "gzip, deflate"}
    client = AsyncOpenAI(
        api_key=key,
        admin_api_key="",
        webhook_secret="",
        base_url=url,
        http_client=http,
        max_retries=0,
        timeout=card.limits.timeout_s,
        default_headers=headers,
    )
    # names in one case: the client's own merging of omitted names is case-sensitive
    sent: dict[str, Any] = {name.title(): value for name, value in client.default_headers.items()}
    sent |= {name.title(): value for name, value in headers.items()}
    sent = {name: value for name, value in sent.items() if isinstance(value, str)}
    # the client's own address ends without a slash where the card's has no path
    address = f"{str(client.base_url).rstrip('/')}/chat/completions"
    wire = Wire(address, sent, card.limits.max_connections, card.limits.timeout_s)
    return Endpoint(parts.netloc, client, wire)
