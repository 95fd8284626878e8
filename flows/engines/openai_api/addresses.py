"""Where a model card is asked and with which key, and why nothing can be sent there; imports no client."""

from __future__ import annotations

import ipaddress
import os
from http import HTTPStatus
from urllib.parse import urlsplit

from models_registry.cards import ModelCard
from models_registry.errors import EngineError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_ENV = "OPENAI_API_KEY"


def key_of(card: ModelCard) -> str:
    """Returns the key in the card's variable, "" where there is none; raises EngineError for one no header can carry."""
    key = os.environ.get(key_env(card), "").strip()
    if not key.isascii() or not key.isprintable():
        msg = f"model '{card.model}': the key in {key_env(card)} holds characters no header can carry"
        raise EngineError(msg)
    return key


def key_env(card: ModelCard) -> str:
    """Returns the name of the variable that holds the card's key."""
    return card.api_key_env or DEFAULT_KEY_ENV


def key_advice(card: ModelCard, status: int | None) -> str:
    """Returns which variable the key is read from, for the message of a 401; "" for every other status."""
    return f"; its key is read from {key_env(card)}" if status == HTTPStatus.UNAUTHORIZED else ""


def base_urls(card: ModelCard) -> tuple[str, ...]:
    """Returns where the card is asked: its own addresses, else OPENAI_BASE_URL, else OpenAI's."""
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
    if not key and not is_loopback(host):
        return f"{host} needs a key: set {key_env(card)}"
    return ""


def is_loopback(host: str) -> bool:
    """Returns whether the host is this machine: localhost, 127.0.0.0/8 or ::1.

    A name under `.localhost` is whatever the resolver makes of it, now or when the request is sent, so it is any host.
    """
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
