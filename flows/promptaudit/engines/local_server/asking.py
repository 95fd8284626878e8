"""Asks a server of a model for other things than answers: what it serves, tokens, log-likelihoods."""

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
    """Why a server gave no JSON object, in one line without its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A server to ask about a card's model, and the key that goes with every request and stands in no error."""

    http: httpx2.AsyncClient
    card: ModelCard
    base_url: str  # with /v1
    key: str

    @property
    def v1(self) -> str:
        """Returns the address of OpenAI's API there."""
        return self.base_url.rstrip("/")

    @property
    def root(self) -> str:
        """Returns the address of the server's own API."""
        return self.v1.removesuffix("/v1")

    async def get(self, url: str) -> dict[str, Any]:
        """Returns the JSON object at an address; raises NoReply."""
        return await self._asked(url, None)

    async def post(self, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the JSON object that the server answers a body with; raises NoReply."""
        return await self._asked(url, body)

    async def _asked(self, url: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        headers = {"User-Agent": "promptaudit"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        try:
            if body is None:
                reply = await self.http.get(url, headers=headers)
            else:
                reply = await self.http.post(url, json=dict(body), headers=headers)
            text = f"HTTP {reply.status_code}: {described(error_of(reply.text))}"
            text += advice(self.card, urlsplit(url).netloc, reply.status_code, text)
            answer = reply.json() if reply.status_code == HTTPStatus.OK else None
        except (httpx2.HTTPError, BodyTooLarge, ValueError) as error:
            text, answer = f"{type(error).__name__}: {error}", None
        if isinstance(answer, dict) and not (answer.get("error") or answer.get("object") == "error"):
            return answer
        raise NoReply(one_line(text, (self.key,)))

    def refused(self, why: str) -> EngineError:
        """Returns the error of a model that cannot be asked there."""
        return EngineError(f"model '{self.card.model}' at {urlsplit(self.base_url).netloc}: {why}")

    def untold(self, why: str) -> EngineError:
        """Returns the error of a server that does not say how likely replies are."""
        return EngineError(f"model '{self.card.model}' tells no log-likelihoods: {why}")


def text_of(value: object) -> str | None:
    """Returns a text that a server said of itself, in one line; None where it is none."""
    return one_line(value, limit=200) if isinstance(value, str) else None


def joined(values: Sequence[str | None]) -> str | None:
    """Returns the different texts that several servers said, in their order; None where none said any."""
    return ", ".join(dict.fromkeys(value for value in values if value)) or None
