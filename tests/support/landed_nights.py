"""Complete nights of an audit as landed rows, without answers of a model."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of

AUDIT = "nightly"
FIRST = datetime(2026, 11, 1, 2)


def run_id(night: int) -> str:
    return f"{night:032x}"


def ruling(**fields: Any) -> dict[str, Any]:
    """A person's ruling on an answer, as a row of raw.verdicts."""
    row = {
        "verdict_id": "v0",
        "judge_id": "person:ada",
        "repetition": 1,
        "ask": 1,
        "is_settled": True,
        "is_match": True,
    }
    return {**row, "is_completion_escaped": False, "n_attempts": 1, "landed_at": FIRST, **fields}


def land_night(
    warehouse: Path, night: int, n_rows: int = 4, texts: tuple[str | None, ...] = ("yes",), **run: Any
) -> str:
    """A run with `n_rows` predictions, one failed try, one ruling of a person and one wording."""
    audit_run_id, at = run_id(night), FIRST + timedelta(days=night)
    one = {"audit_run_id": audit_run_id, "prediction_id": "p0"}
    predictions = [
        {
            **one,
            "prediction_id": f"p{number}",
            "model_id": "m",
            "task_id": "t",
            "prompt_variant_id": "v",
            "sample_id": f"s{number}",
            "repetition": 1,
            "completion": texts[number % len(texts)],
            "is_completion_escaped": False,
            "is_refused": False,
            "n_attempts": 1,
            "request_sha256": "f" * 64,
            "latency_ms": 0.1 + 0.2,
            "prompt_tokens": 7,
            "landed_at": at,
        }
        for number in range(n_rows)
    ]
    rows: dict[str, list[dict[str, Any]]] = {
        "audit_runs": [
            {
                "audit_run_id": audit_run_id,
                "audit_id": AUDIT,
                "origin": "run",
                "state": "complete",
                "started_at": at,
                "fingerprint": "f",
                "plan_fingerprint": "f",
                "card": "{}",
                "format_limits": "{}",
                "seed": 1,
                "n_resamples": 10,
                "code_version": "1",
                "library_versions": "{}",
                **run,
            }
        ],
        "predictions": predictions,
        "attempts": [{**one, "attempted_at": at, "http_status": 500, "error": "x", "waited_ms": 1.5}],
        "verdicts": [ruling(**one, landed_at=at)],
        "prompt_variants": [
            {
                **one,
                "prompt_variant_id": "v",
                "task_id": "t",
                "strategy": "simple",
                "variant_index": 1,
                "is_original": False,
                "is_edited": False,
                "instruction": f"Of night {night}",
                "repetitions": [1],
                "rephrasing_key": "k",
            }
        ],
    }
    Warehouse(warehouse).land([(table, frame_of(table, landed)) for table, landed in rows.items()])
    return audit_run_id
