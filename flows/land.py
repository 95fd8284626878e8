"""Lands answers: batches of rows, one transaction each. A flushed row is on disk; a row is counted when it is flushed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows.engines import Answer, Request
from flows.rows import frame_of
from flows.warehouse import land, now
from models_registry.cards import Price
from models_registry.tables import escape

BATCH_ROWS = 5_000
BATCH_BYTES = 32_000_000
BATCH_SECONDS = 0.5


class Landing:
    """Collects answers of one run and lands them every few seconds, or when many or large ones wait."""

    def __init__(self, warehouse: Path, audit_run_id: str, on_landed: Callable[[int], None] | None = None) -> None:
        self._warehouse = warehouse
        self._run = audit_run_id
        self._on_landed = on_landed or (lambda _: None)
        self._predictions: list[dict[str, Any]] = []
        self._attempts: list[dict[str, Any]] = []
        self._bytes = 0
        self._since = time.monotonic()
        self.n_landed = 0
        self.n_unanswered = 0
        self.cost_usd = 0.0

    def add(self, request: Request, answer: Answer, price: Price | None) -> None:
        """Takes one answer; lands the batch when it is due."""
        for attempt in answer.attempts:
            self._attempts.append(
                {
                    "audit_run_id": self._run,
                    "prediction_id": request.prediction_id,
                    "attempted_at": attempt.attempted_at.replace(tzinfo=None),
                    "http_status": attempt.http_status,
                    "error": attempt.error,
                    "waited_ms": attempt.waited_ms,
                }
            )
        if answer.is_landed:
            row = _row(self._run, request, answer, price)
            self._bytes += len(row["completion"] or "")
            self.cost_usd += row["cost_usd"] or 0
            self._predictions.append(row)
        else:
            self.n_unanswered += 1
        is_due = time.monotonic() - self._since > BATCH_SECONDS
        if len(self._predictions) >= BATCH_ROWS or self._bytes > BATCH_BYTES or is_due:
            self.flush()

    def flush(self) -> None:
        """Lands what waits."""
        if self._predictions or self._attempts:
            land(
                self._warehouse,
                [
                    ("predictions", frame_of("predictions", self._predictions)),
                    ("attempts", frame_of("attempts", self._attempts)),
                ],
            )
            self.n_landed += len(self._predictions)
            self._on_landed(len(self._predictions))
        self._predictions, self._attempts, self._bytes = [], [], 0
        self._since = time.monotonic()


def cost_of(answer: Answer, price: Price | None) -> float | None:
    """US dollars of an answer; None where the price or the tokens are unknown."""
    if price is None:
        return None
    if price.input_usd_per_mtok == 0 and price.output_usd_per_mtok == 0:
        return 0.0
    if answer.prompt_tokens is None or answer.completion_tokens is None:
        return None
    tokens = answer.prompt_tokens * price.input_usd_per_mtok + answer.completion_tokens * price.output_usd_per_mtok
    return tokens / 1e6


def _row(audit_run_id: str, request: Request, answer: Answer, price: Price | None) -> dict[str, Any]:
    completion, is_escaped = (None, False) if answer.completion is None else escape(answer.completion)
    return {
        "audit_run_id": audit_run_id,
        "prediction_id": request.prediction_id,
        "model_id": request.model_id,
        "task_id": request.task_id,
        "prompt_variant_id": request.prompt_variant_id,
        "sample_id": request.sample_id,
        "repetition": request.repetition,
        "completion": completion,
        "is_completion_escaped": is_escaped,
        "reasoning": answer.reasoning,
        "finish_reason": answer.finish_reason,
        "is_refused": answer.is_refused,
        "token_logprobs": answer.token_logprobs,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "latency_ms": answer.latency_ms,
        "n_attempts": len(answer.attempts) + 1,
        "cost_usd": cost_of(answer, price),
        "served_model": answer.served_model,
        "system_fingerprint": answer.system_fingerprint,
        "request_id": answer.request_id,
        "request_sha256": request.request_sha256,
        "error": None if answer.completion is not None else answer.error,
        "landed_at": now(),
    }
