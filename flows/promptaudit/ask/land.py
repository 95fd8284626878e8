"""Lands answers: on disk at once, in the warehouse a batch at a time, while the next are being asked for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from promptaudit.cards.prices import cost_of
from promptaudit.engines import Answer, Attempt, Request
from promptaudit.engines.answer_rows import answer_columns, attempt_row
from promptaudit.registry.cards import Price
from promptaudit.system.clock import now
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.spool import Spool, land_segment, spool_of

BATCH_ROWS = 20_000
BATCH_BYTES = 32_000_000
BATCH_SECONDS = 1.0


class Landing:
    """Collects the answers of one run.

    A counted answer is in the spool, and `land` has landed it after the next `flush`.

    `land` is called with the closed files of a segment, in a thread of its own.
    """

    def __init__(self, audit_run_id: str, spool: Spool, land: Callable[[Sequence[Path]], None]) -> None:
        self.audit_run_id = audit_run_id
        self._spool, self._land = spool, land
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="landing")
        self._landing: deque[Future[None]] = deque()
        self._since = time.monotonic()
        self.n_landed = 0

    def add(self, request: Request, answer: Answer, price: Price | None) -> None:
        """Keeps one answer and its failed tries; raises WarehouseError when no more can be kept."""
        self.add_attempts(request.prediction_id, answer.attempts)
        if answer.is_landed:
            self.append("predictions", _row(self.audit_run_id, request, answer, price))
            self.n_landed += 1

    def add_attempts(self, asked_id: str, attempts: Sequence[Attempt]) -> None:
        """Keeps the failed tries of a prediction or a rephrasing."""
        for attempt in attempts:
            self.append("attempts", attempt_row(self.audit_run_id, asked_id, attempt))

    def append(self, table: str, row: Mapping[str, Any]) -> None:
        """Keeps a row of any table of the run; starts landing the segment when it is due."""
        self._spool.append(table, row)
        if self._is_due() or self._spool.n_rows >= BATCH_ROWS or self._spool.n_bytes > BATCH_BYTES:
            self._turn()

    def turn_if_due(self) -> None:
        """Starts landing a segment that has been open for a while, also when no row comes."""
        if self._is_due() and self._spool.n_rows:
            self._turn()

    def _is_due(self) -> bool:
        return time.monotonic() - self._since > BATCH_SECONDS

    def flush(self) -> None:
        """Waits until all that was added is in the warehouse; raises WarehouseError if it cannot be landed."""
        self._turn()
        while self._landing:
            self._landing.popleft().result()

    def close(self) -> None:
        """Flushes, ends the thread and closes the spool; an empty spool is removed."""
        try:
            self.flush()
        finally:
            self._thread.shutdown()
            self._spool.close()

    def _turn(self) -> None:
        while self._landing and self._landing[0].done():
            self._landing.popleft().result()
        files = self._spool.turn()
        if files:
            self._landing.append(self._thread.submit(self._land, files))
        self._since = time.monotonic()


def landing_in(warehouse: Warehouse, audit_run_id: str) -> Landing:
    """Makes the landing of a run's answers in the warehouse."""
    return Landing(audit_run_id, spool_of(warehouse, audit_run_id), partial(land_segment, warehouse))


def _row(audit_run_id: str, request: Request, answer: Answer, price: Price | None) -> dict[str, Any]:
    return {
        "audit_run_id": audit_run_id,
        "prediction_id": request.prediction_id,
        "model_id": request.model_id,
        "task_id": request.task_id,
        "prompt_variant_id": request.prompt_variant_id,
        "sample_id": request.sample_id,
        "repetition": request.repetition,
        "reasoning": answer.reasoning,
        "finish_reason": answer.finish_reason,
        "is_refused": answer.is_refused,
        "token_logprobs": answer.token_logprobs,
        "option_loglikelihoods": answer.option_loglikelihoods,
        "request_sha256": request.request_sha256,
        **answer_columns(answer, cost_of(answer, price), now()),
    }
