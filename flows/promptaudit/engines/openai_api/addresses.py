"""Finds a model card's addresses and key, and says why nothing can be sent there; imports no client."""

from __future__ import annotations

import ipaddress
import os
from http import HTTPStatus
from urllib.parse import urlsplit

from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.model_cards import AZURE

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_ENV = "OPENAI_API_KEY"


def key_of(card: ModelCard) -> str:
    """Reads the key from the card's variable, else ""; raises EngineError for one that no header can carry."""
    key = os.environ.get(key_env(card), "").strip()
    if not key.isascii() or not key.isprintable():
        msg = f"model '{card.model}': the key in {key_env(card)} holds characters no header can carry"
        raise EngineError(msg)
    return key


def key_env(card: ModelCard) -> str:
    """Names the variable that holds the card's key."""
    return card.api_key_env or DEFAULT_KEY_ENV


def advice(card: ModelCard, host: str, status: int | None, text: str) -> str:
    """Says what to check after a refusal: the key's variable after a 401, the address after a 404 or 405; else "".

    `host` is the host and port of one of the card's addresses; `text` is the server's message.
    """
    if status == HTTPStatus.UNAUTHORIZED:
        return f"; its key is read from {key_env(card)}"
    is_nowhere = status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
    parts = next(parts for parts in map(urlsplit, base_urls(card)) if parts.netloc == host)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    is_azure = (parts.hostname or "").endswith(".azure.com") and is_nowhere
    if (is_azure or "api-version" in text) and not path.endswith("/openai/v1"):
        return f"; {AZURE.format(root)}"
    if not is_nowhere or "model" in text.casefold():
        return ""
    if path.endswith("/completions"):
        return "; base_url ends before /chat/completions"
    return "" if path else f"; base_url names no path, and most servers answer at {root}/v1"


def base_urls(card: ModelCard) -> tuple[str, ...]:
    """Lists the card's addresses: its own, else OPENAI_BASE_URL, else OpenAI's."""
    return card.base_url or (os.environ.get("OPENAI_BASE_URL", "").strip() or DEFAULT_BASE_URL,)


def refuse_addresses(card: ModelCard, key: str) -> None:
    """Raises EngineError for an address that is malformed or holds credentials, and for another host without a key."""
    for url in base_urls(card):
        if problem := _problem(card, url, key):
            msg = f"model '{card.model}': {problem}"
            raise EngineError(msg)


def _problem(card: ModelCard, url: str, key: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "base_url is no URL"
    if parts.scheme not in ("http", "https") or not host:
        return "base_url must be http://host or https://host"
    if parts.username is not None or parts.password is not None:
        # a card is landed as it is written
        return "base_url holds credentials; put the key into a variable and name it in api_key_env"
    if parts.query or parts.fragment:
        return f"base_url has no query; {AZURE.format(f'{parts.scheme}://{parts.netloc}')}"
    if not key and not is_loopback(host):
        return f"{host} needs a key: set {key_env(card)}"
    return ""


def is_loopback(host: str) -> bool:
    """Checks whether the host is this machine: localhost, 127.0.0.0/8 or ::1.

    A name under `.localhost` counts as any other host: the resolver decides what it is, now or when the request is
    sent.
    """
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
