"""Asks a rephraser's model within the run's budget, and lands each request, so that none is paid twice."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from promptaudit.cards.prices import cost_of
from promptaudit.engines import Answer, Engine, Request
from promptaudit.engines.answer_rows import answer_columns, attempt_row
from promptaudit.plan.budget import Purse, Spending
from promptaudit.registry.cards import ModelCard, Price
from promptaudit.registry.errors import EngineError
from promptaudit.system.clock import now
from promptaudit.system.keys import content_id, temperature_key
from promptaudit.warehouse.rows import frame_of


class KeptEngine(Engine):
    """Lands an engine's answers in `raw.rephrasings`; a request that has landed is answered from there."""

    def __init__(self, engine: Engine, card: ModelCard, purse: Purse) -> None:
        self.max_connections = engine.max_connections
        self._engine, self._card, self._purse = engine, card, purse
        self._spending = Spending(purse.budget, card)

    async def open(self) -> None:
        """Opens the engine."""
        await self._engine.open()

    async def answer(self, request: Request) -> Answer:
        """Looks up the landed answer, else asks the engine; raises BudgetReached before a request may cross the budget.

        Raises EngineError if the model does not answer for now.
        """
        run = self._purse.audit_run_id
        temperature = temperature_key(request.paraphrase_temperature)
        rephrasing_id = content_id("rephrasing", run, request.task_id, temperature, request.request_sha256)
        landed = self._purse.warehouse.read(
            "select completion, error from raw.rephrasings where audit_run_id = $run and rephrasing_id = $rephrasing_id",
            run=run,
            rephrasing_id=rephrasing_id,
        )
        if landed:
            return Answer(**landed[0])
        try:
            async with self._spending.reserved(request) as answered:
                answer = await self._engine.answer(request)
                answered(answer)
        except EngineError as error:
            self._land([], [attempt_row(run, rephrasing_id, attempt) for attempt in error.attempts])
            raise
        attempts = [attempt_row(run, rephrasing_id, attempt) for attempt in answer.attempts]
        row = _row(run, rephrasing_id, request, answer, self._spending.price)
        self._land([row] if answer.is_landed else [], attempts)
        if not answer.is_landed:
            # for now: a missing list must not pass for an empty one, which later nights would reuse
            self._purse.budget.refuse_out_of_requests()
            said = f": {answer.attempts[-1].error}" if answer.attempts else ""
            msg = f"model '{request.model_id}' does not answer for now; run again to continue{said}"
            raise EngineError(msg)
        if answer.error is not None:
            self._purse.say(f"model '{request.model_id}' rewords nothing here: {answer.error}")
        # as it will be read back
        return replace(answer, completion=row["completion"])

    async def close(self) -> None:
        """Closes the engine, and prints what it had to leave out."""
        for note in self._engine.notes:
            self._purse.say(f"model '{self._card.model}' {note}")
        await self._engine.close()

    def _land(self, rows: list[dict[str, object]], attempts: list[dict[str, object]]) -> None:
        tables = [("rephrasings", frame_of("rephrasings", rows)), ("attempts", frame_of("attempts", attempts))]
        self._purse.warehouse.land(tables)


def _row(run: str, rephrasing_id: str, request: Request, answer: Answer, price: Price | None) -> dict[str, Any]:
    return {
        "audit_run_id": run,
        "rephrasing_id": rephrasing_id,
        "task_id": request.task_id,
        "model_id": request.model_id,
        "paraphrase_temperature": request.paraphrase_temperature,
        "prompt": json.dumps([{"role": role, "content": content} for role, content in request.messages]),
        **answer_columns(answer, cost_of(answer, price), now()),
    }
