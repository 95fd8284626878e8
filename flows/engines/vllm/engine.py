"""Asks a model that vLLM serves: by a server started for the run, or one that runs already."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx2

from promptaudit.flows.engines import Answer, Attempt, Engine, MayTry, Request, Say, ServedModel, always, silent
from promptaudit.flows.engines.openai_api.addresses import advice, base_urls, key_of
from promptaudit.flows.engines.openai_api.bounded_http import BodyTooLarge, bounded_client
from promptaudit.flows.engines.openai_api.engine import OpenAIEngine
from promptaudit.flows.engines.openai_api.error_bodies import described, error_of
from promptaudit.flows.engines.openai_api.loglikelihoods import Asking, Loglikelihood, SingleTokens, loglikelihoods
from promptaudit.flows.engines.vllm.process import PEEK_S, VllmProcess
from promptaudit.flows.engines.vllm.shared import SERVERS
from promptaudit.flows.system.scrub import one_line
from promptaudit.models_registry.cards import ModelCard
from promptaudit.models_registry.errors import EngineError, nearest

KEY_ENV = (
    "VLLM_API_KEY"  # of a server that is started, which asks for none: a paid provider's key has no business there
)


class VllmServerEngine(Engine):
    """A model behind vLLM. With `base_url` it asks the servers that run there; without, one that it starts and ends.

    Engines of the same model and settings share one started server. Raises EngineError from `open` where it does not come
    up, or serves another model, and from `answer` as soon as a started server has ended; otherwise as `OpenAIEngine` does.
    """

    def __init__(self, card: ModelCard, may_try: MayTry = always, say: Say = silent) -> None:
        self.max_connections = card.limits.max_connections
        self._card, self._may_try, self._say = card, may_try, say
        self._server: VllmProcess | None = None
        self._engine: OpenAIEngine | None = None
        self._watching: asyncio.Task[None] | None = None
        self._unweighed: str | None = None  # why the first options that could not be weighed were not
        self._single_tokens: SingleTokens = {}
        self._http = bounded_client(self.max_connections, card.limits.timeout_s)

    @property
    def pressure(self) -> str:
        """Returns what the servers make this engine hold back."""
        return "" if self._engine is None else self._engine.pressure

    async def open(self) -> None:
        """Starts the server where the card names none, and reads what it serves: the model's own name, version, context."""
        card = self._card
        if not card.base_url:
            self._server = await SERVERS.borrow(card, self._say)
            card = card.model_copy(update={"base_url": (self._server.base_url,), "api_key_env": KEY_ENV})
        key = key_of(card)
        self._http.secrets = (key,) if key else ()
        self._card = card
        self._engine = OpenAIEngine(card, self._may_try)
        self.notes = self._engine.notes
        self.served = await read_served(self._http, card)
        if self._server is not None:
            self._watching = asyncio.create_task(self._watch(self._server, self._engine))

    async def answer(self, request: Request) -> Answer:
        """Returns the answer to one request; a first one may take 20 s, in which vLLM compiles."""
        engine = self._opened()
        try:
            answer = await engine.answer(request)
        except EngineError as error:
            self._refuse_ended(error.attempts)
            raise
        if not answer.is_landed:
            self._refuse_ended(answer.attempts)
        elif request.replies and answer.completion is not None:
            return replace(answer, option_loglikelihoods=await self._weighed(request))
        return answer

    async def _weighed(self, request: Request) -> str | None:
        """How likely the request's replies are, as raw keeps it; None where this one cannot be weighed, a long prompt's."""
        try:
            likelihoods = await self.loglikelihoods(request, request.replies)
        except EngineError as error:
            self._refuse_ended(())
            self._unweighed = self._unweighed or f"could not weigh the options of some prompts: {one_line(str(error))}"
            return None
        weights = [
            {"nats": each.nats, "n_tokens": each.n_tokens, "n_characters": len(reply)}
            for each, reply in zip(likelihoods, request.replies, strict=True)
        ]
        return json.dumps(weights)

    async def loglikelihoods(self, request: Request, options: Sequence[str]) -> list[Loglikelihood]:
        """Returns how likely each option is as the reply, in nats; for the scoring method `option_loglikelihood`.

        Of several endpoints the first is asked. Raises EngineError, and tries nothing again.
        """
        self._opened()
        fields = {**self._card.extra_body, "model": self._card.model}
        asking = Asking(
            http=self._http,
            base_url=self._card.base_url[0],
            headers=_headers(self._card),
            secrets=self._http.secrets,
            fields=fields,
        )
        try:
            return await loglikelihoods(asking, request.messages, options, self._single_tokens)
        except EngineError:
            self._refuse_ended(())
            raise

    def give_up(self, reason: str) -> None:
        """Lets whoever waits go without an answer."""
        if self._engine is not None:
            self._engine.give_up(reason)

    async def close(self) -> None:
        """Closes the connections, and ends the server where it was started and nobody else asks it."""
        if self._unweighed is not None:
            self.notes, self._unweighed = [*self.notes, self._unweighed], None
        server, self._server = self._server, None
        watching, self._watching = self._watching, None
        try:
            if watching is not None:
                watching.cancel()
            if self._engine is not None:
                await self._engine.close()
            await self._http.aclose()
        finally:
            if server is not None:
                await SERVERS.give_back(self._card)

    def _opened(self) -> OpenAIEngine:
        if self._engine is None:
            msg = "the engine is not open"
            raise RuntimeError(msg)
        return self._engine

    async def _watch(self, server: VllmProcess, engine: OpenAIEngine) -> None:
        """Waits for the server to end: who asks it would otherwise wait minutes for it to come back."""
        while (why := server.ended()) is None:  # noqa: ASYNC110 - nothing else tells of a process that ends
            await asyncio.sleep(PEEK_S)
        engine.give_up(why)

    def _refuse_ended(self, attempts: Sequence[Attempt]) -> None:
        if self._server is not None and self._server.ended() is not None:
            error = self._server.blamed()
            error.attempts = tuple(attempts)
            raise error


async def read_served(http: httpx2.AsyncClient, card: ModelCard) -> ServedModel:
    """Returns what the card's servers say they serve; where they differ, each of their answers, and the shortest context.

    `served_model` is what lies behind the name that the model is asked by, where the server tells. Raises EngineError for
    a server that is not there, refuses the key, is none of vLLM's protocol or does not serve the card's model.
    """
    servers = [await _read_one(http, card, url) for url in base_urls(card)]
    contexts = [length for _, _, length in servers if length is not None]
    return ServedModel(
        ", ".join(urlsplit(url).netloc for url in base_urls(card)),
        engine_version=_joined([version for version, _, _ in servers]),
        served_model=_joined([model for _, model, _ in servers]),
        context_length=min(contexts, default=None),
    )


async def _read_one(http: httpx2.AsyncClient, card: ModelCard, url: str) -> tuple[str | None, str | None, int | None]:
    """(version, model, context length) of one server."""
    where = f"model '{card.model}' at {urlsplit(url).netloc}"
    base = url.rstrip("/")
    try:
        listed = (await _get(http, card, f"{base}/models"))["data"]
        models = {str(model["id"]): model for model in listed}
    except (LookupError, TypeError):
        msg = f"{where}: no list of models as vLLM gives it"
        raise EngineError(msg) from None
    if card.model not in models:
        msg = f"{where}: it serves no such model{nearest(card.model, models)}"
        raise EngineError(msg)
    mine = models[card.model]
    length = mine.get("max_model_len")
    version = None
    with contextlib.suppress(EngineError):  # a gateway before it may pass /v1 on alone
        version = _text((await _get(http, card, f"{base.removesuffix('/v1')}/version")).get("version"))
    return version, _text(mine.get("root")) or card.model, length if type(length) is int else None


async def _get(http: httpx2.AsyncClient, card: ModelCard, url: str) -> dict[str, Any]:
    """Returns the JSON object at an address; raises EngineError in one line."""
    key = key_of(card)
    where = f"model '{card.model}' at {urlsplit(url).netloc}"
    try:
        reply = await http.get(url, headers=dict(_headers(card)))
        text = f"HTTP {reply.status_code}: {described(error_of(reply.text))}"
        text += advice(card, urlsplit(url).netloc, reply.status_code, text)
        parsed = reply.json() if reply.is_success else None
    except (httpx2.HTTPError, BodyTooLarge, ValueError) as error:
        text, parsed = f"{type(error).__name__}: {error}", None
    if isinstance(parsed, dict):
        return parsed
    msg = f"{where}: {one_line(text, (key,))}"
    raise EngineError(msg)


def _headers(card: ModelCard) -> Mapping[str, str]:
    key = key_of(card)
    return {"User-Agent": "promptaudit"} | ({"Authorization": f"Bearer {key}"} if key else {})


def _text(value: object) -> str | None:
    return one_line(value, limit=200) if isinstance(value, str) else None


def _joined(values: Sequence[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(value for value in values if value)) or None
