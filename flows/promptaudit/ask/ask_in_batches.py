"""Asks a model in batches: resumes running ones, sends what is missing, waits, and asks again what is left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from promptaudit.ask.collect_batches import COLLECTED, SUBMITTED, Batch, BatchCollector, BatchContext
from promptaudit.engines import Answer, Request
from promptaudit.engines.batches.lines import Draft
from promptaudit.engines.batches.openai_batches import BatchApi
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import BudgetReached, EngineError
from promptaudit.system.files import private_folder
from promptaudit.warehouse import Warehouse

__all__ = ["BatchContext", "ask_in_batches", "open_batches"]

OF_RUN = "promptaudit_run"  # the field of a batch's metadata that names its run
BREATH = 200  # requests until other tasks get their turn


def open_batches(card: ModelCard, warehouse: Warehouse) -> BatchApi:
    """Opens the provider that takes the batches of a card; its files lie in a private folder beside the warehouse.

    Raises EngineError for a missing key or a malformed address.
    """
    folder = warehouse.places.batches
    private_folder(folder)
    return BatchApi(card, folder)


async def ask_in_batches(batches: BatchApi, context: BatchContext) -> None:
    """Asks every missing cell of a model in batches and lands the answers.

    First it waits for the batches of an earlier process and lands them. Then it sends all that is missing, and again
    what came back without an answer, at most `limits.max_attempts` times, until a round lands nothing. A batch is in
    raw.batches before the next is made, so an interrupt at any point leaves it running, known, and paid once.

    Raises BudgetReached when all that the budget allowed has landed; EngineError for a batch that failed as a whole,
    when the others of its round have landed, or for what `BatchCollector.collect` raises.
    """
    collector = BatchCollector(batches, context)
    # a batch that failed as a whole has been reported; its cells are sent again
    await collector.collect(await _reattached(batches, context, collector))
    n_rounds = 0
    while n_rounds < context.card.limits.max_attempts and not context.is_stopped():
        submitter = _BatchSubmitter(batches, context, collector)
        came = await collector.collect(await submitter.hand_over())
        has_no_room = came.failed is not None and came.failed.is_full and came.n_landed > 0
        if came.failed is not None and not has_no_room:
            msg = f"model '{context.card.model}': a batch failed as a whole: {came.failed.error}"
            raise EngineError(msg)
        if submitter.reached is not None:
            raise submitter.reached
        if not came.n_landed:
            return
        # what the provider had no room for was not tried
        n_rounds += 0 if has_no_room else 1


async def _reattached(batches: BatchApi, context: BatchContext, collector: BatchCollector) -> list[Batch]:
    # batches of this run and model that were sent before and whose answers have not landed, oldest first
    rows = context.warehouse.read(
        "select batch_id, max(n_requests) as n_requests, arg_max(state, recorded_at) as state, list(state) as states "
        "from raw.batches where audit_run_id = $run and model_id = $model group by batch_id order by min(recorded_at)",
        run=context.audit_run_id,
        model=context.model_id,
    )
    running = [
        Batch(batch_id=row["batch_id"], n_requests=row["n_requests"], state=row["state"])
        for row in rows
        if COLLECTED not in row["states"]
    ]
    known = {row["batch_id"] for row in rows}
    for batch_id in await batches.find(_metadata(context)):
        if batch_id not in known:
            # made, and the process ended before it was recorded
            seen = await batches.look(batch_id)
            running.append(Batch(batch_id=batch_id, n_requests=seen.n_requests if seen else 0))
            collector.record(running[-1], SUBMITTED)
    if running:
        collector.say(f"batches that were handed over before: {len(running)}")
    return running


class _BatchSubmitter:
    # one pass over what is missing; `reached` is set if the budget ends first

    def __init__(self, batches: BatchApi, context: BatchContext, collector: BatchCollector) -> None:
        self._batches, self._context, self._collector = batches, context, collector
        self._left: Request | None = None  # reserved, when the draft was full
        self.reached: BudgetReached | None = None

    async def hand_over(self) -> list[Batch]:
        # each batch is recorded before the next is made
        missing = self._context.missing()
        batches: list[Batch] = []
        is_more = True
        while is_more and not self._context.is_stopped():
            with self._batches.draft() as draft:
                is_more = await self._fill(draft, missing)
                if draft.n_requests:
                    batch_id = await self._batches.submit(draft, _metadata(self._context))
                    batches.append(Batch(batch_id=batch_id, n_requests=draft.n_requests))
                    self._collector.record(batches[-1], SUBMITTED)
                    self._collector.say(f"batch {batch_id}: {draft.n_requests} requests handed over")
        return batches

    async def _fill(self, draft: Draft, missing: Iterator[Request]) -> bool:
        # returns whether there is more than the draft holds
        if self._left is not None:
            draft.add(self._left)
            self._left = None
        for n_seen, request in enumerate(missing):
            if n_seen % BREATH == 0:
                await asyncio.sleep(0)
            try:
                self._context.reserve(request)
            except BudgetReached as error:
                self.reached = error
                return False
            try:
                if not draft.add(request):
                    self._left = request
                    return True
            except ValueError as error:  # no batch can carry it
                self._context.take(request, Answer(error=str(error)))
        return False


def _metadata(context: BatchContext) -> dict[str, str]:
    return {OF_RUN: context.audit_run_id, "promptaudit_model": context.model_id}
