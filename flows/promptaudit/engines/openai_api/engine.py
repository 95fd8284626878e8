"""Asks any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import NoReturn

from promptaudit.engines import Answer, Attempt, Engine, MayTry, Request, ServedModel, always
from promptaudit.engines.openai_api.addresses import advice, key_of
from promptaudit.engines.openai_api.body import Body
from promptaudit.engines.openai_api.bounded_http import bounded_client
from promptaudit.engines.openai_api.endpoints import Endpoint, open_endpoints
from promptaudit.engines.openai_api.faults import Failure, is_about_length, settled
from promptaudit.engines.openai_api.sending import Sending
from promptaudit.engines.pacing import lanes as _lanes
from promptaudit.engines.pacing.lanes import Lanes
from promptaudit.engines.pacing.pace import Pace
from promptaudit.engines.pacing.pressure import pressure_of
from promptaudit.engines.pacing.retry import wait_before
from promptaudit.engines.pacing.spacing import Spacing
from promptaudit.registry.cards import ModelCard, Sampling
from promptaudit.registry.errors import EngineError
from promptaudit.system.scrub import one_line

MOST_ALIKE = 25
"""Counts the requests in a row that may be refused in the same words; after that no other is sent."""


OF_WORDS = (400, 403, 422)
"""Lists the statuses whose words alone say what is refused."""


class OpenAIEngine(Engine):
    """Asks a model behind one or several OpenAI-compatible endpoints, each as fast as it can take; for one event loop.

    Raises EngineError if no request can succeed: from the constructor for a missing key or a malformed `base_url`; from
    `answer` for a wrong key, no quota, an unknown model, a redirect, an error that refuses MOST_ALIKE requests in a
    row, or a server that never took a connection or has stopped answering. No error, attempt or answer holds the key.
    The key is read from the card's variable unless `key` is given. A parameter that the model refuses is left out from
    then on, and noted. A slow endpoint gets `least` requests at once or more.
    """

    def __init__(self, card: ModelCard, may_try: MayTry = always, key: str | None = None, least: int = 1) -> None:
        self.max_connections = card.limits.max_connections
        self._card = card
        self._may_try = may_try
        key = key_of(card) if key is None else key
        self._secrets = (key,) if key else ()
        self._http = bounded_client(card.limits.max_connections, card.limits.timeout_s, self._secrets)
        endpoints = open_endpoints(card, key, self._http)
        self.served = ServedModel(", ".join(endpoint.host for endpoint in endpoints))
        body = Body(card)
        self.notes = body.learnt
        self._sending = Sending(body, self._secrets)
        self._lanes = Lanes([Pace(each, self.max_connections, card.limits.timeout_s, least) for each in endpoints])
        self._spacing = Spacing(card.limits)
        self._alike = "", 0  # the error that the last requests were refused by, and how many were
        self._stopped_by: str | None = None
        self._stopping = asyncio.Event()

    @property
    def pressure(self) -> str:
        """Describes how the endpoints slow this engine down, e.g. `throttled: 12 of 64 connections, 41/s, 18 × 429`."""
        return pressure_of(self._lanes.paces, self.max_connections, _lanes.clock())

    async def answer(self, request: Request) -> Answer:
        """Asks one request in at most `limits.max_attempts` tries; safe to call from many tasks at once.

        A try that found no connection does not count: the request waits until an endpoint is back, for up to 5 minutes.
        Once the model cannot be asked at all, later calls get the same EngineError, and waiting calls return without an
        answer.
        """
        if self._stopped_by is not None:
            raise EngineError(self._stopped_by)
        failed: list[Attempt] = []
        n_tries = 0
        failed_at, discarded = 0.0, (0, 0)
        avoid: Pace[Endpoint] | None = None
        while self._stopped_by is None:
            if self._spacing.is_set:
                await self._spacing.take(_tokens(request, self._card.sampling))
            turn = self._lanes.take(avoid) or await self._lanes.wait(avoid)
            if turn is None:
                break
            if failed:
                failed[-1] = replace(failed[-1], waited_ms=(turn[1] - failed_at) * 1000)
            attempted_at = datetime.now(UTC)
            try:
                outcome = await self._sending.send(turn, request, failed)
            finally:
                self._lanes.serve()
            if isinstance(outcome, Answer):
                self._alike = "", 0
                return replace(outcome, discarded_tokens=discarded) if any(discarded) else outcome
            discarded = discarded[0] + outcome.tokens[0], discarded[1] + outcome.tokens[1]
            text = one_line(outcome.text, self._secrets)
            outcome = self._with_scope(outcome, text)
            if outcome.verdict in ("never", "refused"):
                return settled(outcome.verdict, text, failed)
            failed.append(Attempt(attempted_at, outcome.http_status, text, 0.0))
            failed_at = _lanes.clock()
            avoid = turn[0]
            is_gone = outcome.is_unreachable and self._was_never_reached()
            if outcome.verdict == "stop" or is_gone or self._is_silent():
                self._stop(turn[0], outcome, failed)
            n_tries += not outcome.is_learnt and not outcome.is_unreachable
            if n_tries == self._card.limits.max_attempts or not (outcome.is_unreachable or self._may_try()):
                break
            await self._rest(outcome, n_tries)
        return Answer(attempts=tuple(failed))

    def share(self, part: float) -> None:
        """Keeps to this part, in (0, 1], of the card's limits a minute."""
        self._spacing.part = part

    def give_up(self, reason: str) -> None:
        """Ends waiting calls without an answer and refuses new ones, because the model cannot be asked any more."""
        self._stopped_by = self._stopped_by or reason
        self._stopping.set()
        self._lanes.close()

    async def close(self) -> None:
        """Closes the connections; a second call does nothing."""
        self._lanes.close()
        for pace in self._lanes.paces:
            await pace.endpoint.wire.close()
        await self._http.aclose()

    async def _rest(self, failure: Failure, n_tries: int) -> None:
        # the wait before the next try ends at once when the model cannot be asked any more
        if failure.is_learnt or failure.is_unreachable:
            return
        # with several endpoints the next try need not wait for this one
        asked_for = failure.retry_after if len(self._lanes.paces) == 1 else None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), wait_before(n_tries + 1, asked_for))

    def _with_scope(self, failure: Failure, text: str) -> Failure:
        # so many requests in a row refused in the same words: the fault is none of a single request, and stops all
        if failure.verdict == "refused":
            self._alike = "", 0
        if failure.verdict != "never" or failure.http_status not in OF_WORDS or is_about_length(text):
            return failure
        words = re.sub(r"\d+", "0", text)
        self._alike = words, 1 + (self._alike[1] if words == self._alike[0] else 0)
        return replace(failure, verdict="stop") if self._alike[1] >= MOST_ALIKE else failure

    def _is_silent(self) -> bool:
        now, most = _lanes.clock(), self._card.limits.max_attempts
        return all(pace.is_silent(now, most) for pace in self._lanes.paces)

    def _was_never_reached(self) -> bool:
        paces, most = self._lanes.paces, self._card.limits.max_attempts
        return all(pace.n_failed >= most and not pace.is_reached for pace in paces)

    def _stop(self, pace: Pace[Endpoint], failure: Failure, failed: list[Attempt]) -> NoReturn:
        text, host = one_line(failure.text, self._secrets), pace.endpoint.host
        msg = f"model '{self._card.model}' at {host}: {text}{advice(self._card, host, failure.meant_status, text)}"
        self.give_up(msg)
        raise EngineError(msg, failed)


def _tokens(request: Request, sampling: Sampling) -> int:
    chars = sum(len(content) for _, content in request.messages)
    return math.ceil(chars / 4) + (sampling.token_cap or 0)
