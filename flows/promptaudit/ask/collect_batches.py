"""Waits for batches and lands their results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from promptaudit.engines import Answer, Request
from promptaudit.engines.batches.openai_batches import BatchApi, BatchStatus
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError
from promptaudit.registry.model_cards import Batching
from promptaudit.system.clock import now
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of

SUBMITTED, COLLECTED = "submitted", "collected"
PART_BYTES = 64_000_000  # of answers held at once
PART_ANSWERS = 50_000
BREATH = 200  # requests until other tasks get their turn
PATIENCE = 10  # times limits.max_attempts: looks in a row without an answer


@dataclass(frozen=True)
class BatchContext:
    """Provides what batches need of the run.

    This process has set no money aside for batches that an earlier one sent.
    """

    warehouse: Warehouse
    audit_run_id: str
    model_id: str
    card: ModelCard
    missing: Callable[[], Iterator[Request]]  # a fresh stream of the model's cells that have not landed
    reserve: Callable[[Request], None]  # raises BudgetReached when the next request would cross the budget
    take: Callable[[Request, Answer], None]  # settles the budget, lands the answer
    flush: Callable[[], None]  # afterwards everything taken is in the warehouse
    say: Callable[[str], None]  # prints one line of progress
    is_stopped: Callable[[], bool] = lambda: False  # the run stops: send nothing, wait for nothing


@dataclass(slots=True, kw_only=True)
class Batch:
    """Describes a batch that was sent. `n_requests` is 0 if the provider had not counted them when it was found."""

    batch_id: str
    n_requests: int
    state: str = SUBMITTED
    n_done: int = 0
    n_unseen: int = 0  # looks in a row without an answer


@dataclass(frozen=True, slots=True)
class CollectedBatches:
    """Counts how many cells were settled, and holds a batch that failed as a whole."""

    n_landed: int
    failed: BatchStatus | None = None


class BatchCollector:
    """Collects one model's batches."""

    def __init__(self, batches: BatchApi, context: BatchContext) -> None:
        self._batches, self._context = batches, context
        self._n_unread = 0  # lines of the batch at hand that are no results

    async def collect(self, running: Sequence[Batch]) -> CollectedBatches:
        """Waits for batches and lands each as it ends, however the others end.

        Raises EngineError for a refusal among the answers that holds for every request, once the answers have landed,
        and for an endpoint that goes silent; the next run lands what still runs.
        """
        running, n_landed, failed = list(running), 0, None
        poll_s = (self._context.card.batch or Batching()).poll_s
        while running and not self._context.is_stopped():
            for batch in list(running):
                seen = await self._look(batch)
                if seen is None or not seen.is_ended:
                    continue
                running.remove(batch)
                if seen.state == "failed" and (failed is None or failed.is_full):
                    failed = seen
                n_landed += await self._land(batch, seen)
            if running:
                await asyncio.sleep(poll_s)
        return CollectedBatches(n_landed, failed)

    def record(self, batch: Batch, state: str, error: str | None = None) -> None:
        """Lands a state of a batch."""
        row = {
            "audit_run_id": self._context.audit_run_id,
            "model_id": self._context.model_id,
            "batch_id": batch.batch_id,
            "state": state,
            "recorded_at": now(),
            "n_requests": batch.n_requests,
            "error": error,
        }
        self._context.warehouse.land([("batches", frame_of("batches", [row]))])

    def say(self, text: str) -> None:
        """Prints one line, with the model's name before it."""
        self._context.say(f"{self._context.model_id}: {text}")

    async def _look(self, batch: Batch) -> BatchStatus | None:
        seen = await self._batches.look(batch.batch_id)
        if seen is None:
            batch.n_unseen += 1
            if batch.n_unseen > PATIENCE * self._context.card.limits.max_attempts:
                who = f"model '{self._context.card.model}'"
                msg = f"{who}: no word of batch {batch.batch_id}; it runs on, fetch it by another run"
                raise EngineError(msg)
            return None
        batch.n_unseen, batch.n_requests = 0, batch.n_requests or seen.n_requests
        if (seen.state, seen.n_done) != (batch.state, batch.n_done):
            why = f": {seen.error}" if seen.error else ""
            self.say(f"batch {batch.batch_id}: {seen.state}, {seen.n_done} of {batch.n_requests} done{why}")
        if seen.state != batch.state:
            self.record(batch, seen.state, seen.error)
        batch.state, batch.n_done = seen.state, seen.n_done
        return seen

    async def _land(self, batch: Batch, seen: BatchStatus) -> int:
        n_landed = n_strange = self._n_unread = 0
        first = next(self._context.missing(), None)
        sent = () if first is None else (*first.labels, *(content for _, content in first.messages))
        async for part in self._parts(batch.batch_id, sent):
            n_landed += await self._take(batch.batch_id, part)
            n_strange += len(part)
        self._context.flush()
        self.record(batch, COLLECTED, seen.error)
        self._batches.forget(batch.batch_id)
        strange = f"; results of no open cell: {n_strange}" if n_strange else ""
        unread = f"; lines that are no results: {self._n_unread}" if self._n_unread else ""
        self.say(f"batch {batch.batch_id}: {n_landed} of {batch.n_requests} landed{strange}{unread}")
        if self._batches.refused is not None:
            raise self._batches.refused
        return n_landed

    async def _parts(self, batch_id: str, sent: Sequence[str]) -> AsyncIterator[dict[str, Answer]]:
        # by prediction, as many at once as memory allows; of two answers for one cell in a part, the one that lands
        part: dict[str, Answer] = {}
        n_bytes = 0
        async for prediction_id, answer in self._batches.answers(batch_id, sent):
            if not prediction_id:
                self._n_unread += 1
                continue
            earlier = part.get(prediction_id)
            if earlier is None or (answer.is_landed and not earlier.is_landed):
                part[prediction_id] = answer
                n_bytes += sum(len(text or "") for text in (answer.completion, answer.reasoning, answer.token_logprobs))
            if n_bytes > PART_BYTES or len(part) >= PART_ANSWERS:
                yield part
                part, n_bytes = {}, 0
        yield part

    async def _take(self, batch_id: str, part: dict[str, Answer]) -> int:
        # removes the answers of open cells from `part`; returns how many cells were settled
        n_landed = 0
        for n_seen, request in enumerate(self._context.missing() if part else ()):
            if n_seen % BREATH == 0:
                await asyncio.sleep(0)
            answer = part.pop(request.prediction_id, None)
            if answer is not None:
                self._context.take(request, replace(answer, sampling=self._batches.sent_as(batch_id, request)))
                n_landed += answer.is_landed
            if not part:
                break
        self._context.flush()
        return n_landed
