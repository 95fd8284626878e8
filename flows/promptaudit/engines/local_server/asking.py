"""Asks a model's server for other things than answers: what it serves, tokens, log-likelihoods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx2

from promptaudit.engines.openai_api.addresses import advice
from promptaudit.engines.openai_api.bounded_http import BodyTooLarge
from promptaudit.engines.openai_api.error_bodies import described, error_of
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.system.scrub import one_line


class NoReply(Exception):
    """Says why a server gave no JSON object, in one line without its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Asks one server about a card's model. The key goes with every request and stands in no error."""

    http: httpx2.AsyncClient
    card: ModelCard
    base_url: str  # with /v1
    key: str

    @property
    def v1(self) -> str:
        """Builds the address of the server's OpenAI API."""
        return self.base_url.rstrip("/")

    @property
    def root(self) -> str:
        """Builds the address of the server's own API."""
        return self.v1.removesuffix("/v1")

    async def get(self, url: str) -> dict[str, Any]:
        """Fetches the JSON object at an address; raises NoReply."""
        return await self._asked(url, None)

    async def post(self, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Posts a body and reads the JSON object of the reply; raises NoReply."""
        return await self._asked(url, body)

    async def _asked(self, url: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        headers = {"User-Agent": "promptaudit"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        try:
            method, sent = ("GET", None) if body is None else ("POST", dict(body))
            reply = await self.http.request(method, url, json=sent, headers=headers)
            text = f"HTTP {reply.status_code}: {described(error_of(reply.text))}"
            text += advice(self.card, urlsplit(url).netloc, reply.status_code, text)
            answer = reply.json() if reply.status_code == HTTPStatus.OK else None
        except (httpx2.HTTPError, BodyTooLarge, ValueError) as error:
            text, answer = f"{type(error).__name__}: {error}", None
        if isinstance(answer, dict) and not (answer.get("error") or answer.get("object") == "error"):
            return answer
        raise NoReply(one_line(text, (self.key,)))

    def refused(self, why: str) -> EngineError:
        """Makes the error for a model that cannot be asked there."""
        return EngineError(f"model '{self.card.model}' at {urlsplit(self.base_url).netloc}: {why}")

    def no_loglikelihoods(self, why: str) -> EngineError:
        """Makes the error for a server that does not report how likely replies are."""
        return EngineError(f"model '{self.card.model}' tells no log-likelihoods: {why}")


def text_of(value: object) -> str | None:
    """Cuts a text that a server gave about itself to one line of at most 200 characters; None if it is no text."""
    return one_line(value, limit=200) if isinstance(value, str) else None


def joined(values: Sequence[str | None]) -> str | None:
    """Joins the different texts of several servers by commas, in their order; None if there is none."""
    return ", ".join(dict.fromkeys(value for value in values if value)) or None
