"""Asks a model that a server on this machine answers for: a server started for the run, or one already running."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from promptaudit.engines import Answer, Attempt, Engine, MayTry, Request, Say, ServedModel, always, silent
from promptaudit.engines.local_server.asking import Asking
from promptaudit.engines.local_server.launch import Launch
from promptaudit.engines.local_server.process import PEEK_S, ServerProcess
from promptaudit.engines.local_server.shared import SERVERS
from promptaudit.engines.loglikelihood import Loglikelihood, as_json
from promptaudit.engines.openai_api.addresses import base_urls, key_of
from promptaudit.engines.openai_api.bounded_http import bounded_client
from promptaudit.engines.openai_api.engine import OpenAIEngine
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.system.scrub import one_line


class LocalServerEngine(Engine):
    """Asks a model behind the servers at `base_url`, or, without one, behind a server that it starts and ends.

    A server that it starts computes `slots` answers at once and has no other user: it is never asked fewer.

    Engines of the same model and settings share one started server. Raises EngineError from `open` if the server does
    not come up or serves another model, and from `answer` as soon as a started server has ended; otherwise as
    `OpenAIEngine` does.
    """

    def __init__(self, card: ModelCard, may_try: MayTry = always, say: Say = silent, slots: int = 1) -> None:
        self.max_connections = card.limits.max_connections
        self.least = min(slots, self.max_connections) if card.starts_server else 1
        self._card, self._may_try, self._say = card, may_try, say
        self._launch: Launch | None = None
        self._server: ServerProcess | None = None
        self._engine: OpenAIEngine | None = None
        self._asking: list[Asking] = []
        self._watching: asyncio.Task[None] | None = None
        self._unweighed: str | None = None  # why the first options that failed could not be weighed
        self._http = bounded_client(self.max_connections, card.limits.timeout_s)

    @abstractmethod
    def _launched(self) -> Launch:
        """Raises EngineError if the server cannot be started."""

    @abstractmethod
    async def _read_served(self, servers: Sequence[Asking]) -> ServedModel:
        """Raises EngineError if it is not the card's model."""

    @abstractmethod
    async def _weigh(self, asking: Asking, request: Request, options: Sequence[str]) -> list[Loglikelihood]:
        """Raises EngineError, and tries nothing again."""

    @property
    def pressure(self) -> str:
        """Describes how the servers slow this engine down; "" if they do not."""
        return "" if self._engine is None else self._engine.pressure

    async def open(self) -> None:
        """Starts the server if the card names none, and reads what it serves: model name, version, context length."""
        card = self._card
        if card.base_url:
            key = key_of(card)
        else:
            launch = self._launched()
            self._server = await SERVERS.borrow(launch, self._say)
            self._launch, key = launch, self._server.key
            card = card.model_copy(update={"base_url": (self._server.base_url,)})
        self._http.secrets = (key,) if key else ()
        self._card = card
        self._engine = OpenAIEngine(card, self._may_try, key, self.least)
        self.notes = self._engine.notes
        self._asking = [Asking(http=self._http, card=card, base_url=url, key=key) for url in base_urls(card)]
        self.served = await self._read_served(self._asking)
        if self._server is not None:
            self._watching = asyncio.create_task(self._watch(self._server, self._engine))

    async def answer(self, request: Request) -> Answer:
        """Answers one request; the first one may take 20 s, in which vLLM compiles."""
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
        try:
            return as_json(request.replies, await self.loglikelihoods(request, request.replies))
        except EngineError as error:
            self._refuse_ended(())
            self._unweighed = self._unweighed or f"could not weigh the options of some prompts: {one_line(str(error))}"
            return None

    async def loglikelihoods(self, request: Request, options: Sequence[str]) -> list[Loglikelihood]:
        """Computes how likely each option is as the reply, in nats; for the scoring method `option_loglikelihood`.

        Of several endpoints the first is asked. Raises EngineError, and tries nothing again.
        """
        self._opened()
        try:
            return await self._weigh(self._asking[0], request, options)
        except EngineError:
            self._refuse_ended(())
            raise

    def give_up(self, reason: str) -> None:
        """Ends waiting calls without an answer."""
        if self._engine is not None:
            self._engine.give_up(reason)

    async def close(self) -> None:
        """Closes the connections, and gives the server back if it was started here."""
        if self._unweighed is not None:
            self.notes, self._unweighed = [*self.notes, self._unweighed], None
        launch, self._launch, self._server = self._launch, None, None
        watching, self._watching = self._watching, None
        try:
            if watching is not None:
                watching.cancel()
            if self._engine is not None:
                await self._engine.close()
            await self._http.aclose()
        finally:
            if launch is not None:
                await SERVERS.give_back(launch)

    def _opened(self) -> OpenAIEngine:
        if self._engine is None:
            msg = "the engine is not open"
            raise RuntimeError(msg)
        return self._engine

    async def _watch(self, server: ServerProcess, engine: OpenAIEngine) -> None:
        # without this a caller would wait minutes for a server that has ended to come back
        while (why := server.ended()) is None:  # noqa: ASYNC110 - no event reports a process that ends
            await asyncio.sleep(PEEK_S)
        engine.give_up(why)

    def _refuse_ended(self, attempts: Sequence[Attempt]) -> None:
        if self._server is not None and self._server.ended() is not None:
            error = self._server.blamed()
            error.attempts = tuple(attempts)
            raise error
