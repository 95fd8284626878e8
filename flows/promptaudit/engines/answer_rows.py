"""Turns answers and failed tries into rows of schema raw."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from promptaudit.registry.tables import escape

if TYPE_CHECKING:
    from promptaudit.engines import Answer, Attempt


def attempt_row(audit_run_id: str, asked_id: str, attempt: Attempt) -> dict[str, object]:
    """Builds the row of raw.attempts for a failed try of a prediction, a rephrasing or a verdict."""
    return {
        "audit_run_id": audit_run_id,
        "prediction_id": asked_id,
        "attempted_at": attempt.attempted_at.astimezone(UTC).replace(tzinfo=None),
        "http_status": attempt.http_status,
        "error": attempt.error,
        "waited_ms": attempt.waited_ms,
    }


def answer_columns(answer: Answer, cost_usd: float | None, landed_at: datetime) -> dict[str, Any]:
    """Builds the columns of an answer that raw.predictions, raw.rephrasings and raw.verdicts share."""
    completion, is_escaped = (None, False) if answer.completion is None else escape(answer.completion)
    return {
        "completion": completion,
        "is_completion_escaped": is_escaped,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "latency_ms": answer.latency_ms,
        "n_attempts": len(answer.attempts) + 1,
        "cost_usd": cost_usd,
        "sampling": answer.sampling,
        "served_model": answer.served_model,
        "system_fingerprint": answer.system_fingerprint,
        "request_id": answer.request_id,
        "error": answer.error,
        "landed_at": landed_at,
    }
