"""Rows on their way into schema raw: typed frames, text that any file can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flows.system.keys import as_json
from flows.warehouse import now
from models_registry.tables import escape

if TYPE_CHECKING:
    from models_registry.cards import TaskCard
    from models_registry.samples import Sample

TEXT, WHOLE, REAL, YES, TIME = pl.String(), pl.Int32(), pl.Float64(), pl.Boolean(), pl.Datetime("us")

# columns of raw by table; tests/warehouse hold this against schema.sql
SCHEMAS: dict[str, dict[str, pl.DataType]] = {
    "audit_runs": {
        "audit_run_id": TEXT, "audit_id": TEXT, "origin": TEXT, "state": TEXT, "started_at": TIME, "finished_at": TIME,
        "fingerprint": TEXT, "plan_fingerprint": TEXT, "card": TEXT, "format_limits": TEXT, "seed": pl.Int64(),
        "n_resamples": WHOLE, "code_version": TEXT, "code_commit": TEXT, "is_code_dirty": YES,
        "library_versions": TEXT, "source": TEXT, "manifest": TEXT, "flow_run_id": TEXT,
    },
    "models": {
        "audit_run_id": TEXT, "model_id": TEXT, "engine": TEXT, "model": TEXT, "card": TEXT, "fingerprint": TEXT,
        "input_usd_per_mtok": REAL, "output_usd_per_mtok": REAL,
    },
    "tasks": {
        "audit_run_id": TEXT, "task_id": TEXT, "kind": TEXT, "level": TEXT, "instruction": TEXT, "output_format": TEXT,
        "reader": TEXT, "refusal_pattern": TEXT, "scoring_methods": TEXT, "token_f1_threshold": REAL, "card": TEXT,
        "fingerprint": TEXT, "recorded_at": TIME,
    },
    "task_labels": {"audit_run_id": TEXT, "task_id": TEXT, "label": TEXT, "label_index": WHOLE, "description": TEXT},
    "samples": {
        "audit_run_id": TEXT, "task_id": TEXT, "sample_id": TEXT, "sample_index": WHOLE, "input": TEXT,
        "gold_label": TEXT, "options": TEXT, "reference_answers": TEXT, "fields": TEXT, "cluster": TEXT,
        "is_critical": YES,
    },
    "prompt_variants": {
        "audit_run_id": TEXT, "prompt_variant_id": TEXT, "task_id": TEXT, "strategy": TEXT,
        "paraphrase_temperature": REAL, "variant_index": WHOLE, "is_original": YES, "is_edited": YES,
        "instruction": TEXT, "output_format": TEXT, "prompt": TEXT, "answer_schema": TEXT, "template": TEXT,
        "reader": TEXT, "repetitions": pl.List(WHOLE),
        "rephraser_id": TEXT, "rephrasing_key": TEXT, "refused_because": TEXT,
        "model_ids": pl.List(TEXT), "variation": TEXT, "setting": TEXT,
    },
    "option_orders": {
        "audit_run_id": TEXT, "prompt_variant_id": TEXT, "sample_id": TEXT, "option_order": pl.List(WHOLE),
    },
    "designs": {"audit_run_id": TEXT, "twice": REAL, "wordings_per_sample": WHOLE, "seed": pl.Int64()},
    "grid": {"audit_run_id": TEXT, "prompt_variant_id": TEXT, "repetition": WHOLE, "sample_ids": pl.List(TEXT)},
    "predictions": {
        "audit_run_id": TEXT, "prediction_id": TEXT, "model_id": TEXT, "task_id": TEXT, "prompt_variant_id": TEXT,
        "sample_id": TEXT, "repetition": WHOLE, "completion": TEXT, "is_completion_escaped": YES, "reasoning": TEXT,
        "finish_reason": TEXT, "is_refused": YES, "token_logprobs": TEXT, "option_loglikelihoods": TEXT,
        "option_order": pl.List(WHOLE),
        "prompt_tokens": WHOLE, "completion_tokens": WHOLE, "latency_ms": REAL, "n_attempts": WHOLE, "cost_usd": REAL,
        "sampling": TEXT, "served_model": TEXT, "system_fingerprint": TEXT, "request_id": TEXT, "request_sha256": TEXT,
        "error": TEXT, "landed_at": TIME,
    },
    "attempts": {
        "audit_run_id": TEXT, "prediction_id": TEXT, "attempted_at": TIME, "http_status": WHOLE, "error": TEXT,
        "waited_ms": REAL,
    },
    "rephrasings": {
        "audit_run_id": TEXT, "rephrasing_id": TEXT, "task_id": TEXT, "model_id": TEXT, "paraphrase_temperature": REAL,
        "prompt": TEXT, "completion": TEXT, "is_completion_escaped": YES, "prompt_tokens": WHOLE,
        "completion_tokens": WHOLE, "latency_ms": REAL, "n_attempts": WHOLE, "cost_usd": REAL, "sampling": TEXT,
        "served_model": TEXT, "system_fingerprint": TEXT, "request_id": TEXT, "error": TEXT, "landed_at": TIME,
    },
    "engines": {
        "audit_run_id": TEXT, "model_id": TEXT, "opened_at": TIME, "engine": TEXT, "endpoint": TEXT,
        "engine_version": TEXT, "served_model": TEXT, "context_length": WHOLE,
    },
    "batches": {
        "audit_run_id": TEXT, "model_id": TEXT, "batch_id": TEXT, "state": TEXT, "recorded_at": TIME,
        "n_requests": WHOLE, "error": TEXT,
    },
    "judges": {
        "audit_run_id": TEXT, "judge_id": TEXT, "judge_key": TEXT, "model_id": TEXT, "panel": TEXT, "repetitions": WHOLE,
        "max_asks": WHOLE, "card": TEXT, "model_card": TEXT, "recorded_at": TIME, "rephrasing_key": TEXT,
        "n_reworded_answers": WHOLE,
    },
    "judge_wordings": {
        "audit_run_id": TEXT, "judge_id": TEXT, "judge_key": TEXT, "rephrasing_key": TEXT, "wording_index": WHOLE,
        "wording_key": TEXT, "rubric": TEXT, "is_original": YES, "rephraser_id": TEXT, "refused_because": TEXT,
        "landed_at": TIME,
    },
    "judge_controls": {
        "audit_run_id": TEXT, "control_id": TEXT, "task_id": TEXT, "sample_id": TEXT, "kind": TEXT, "completion": TEXT,
        "is_match": YES,
    },
    "verdicts": {
        "audit_run_id": TEXT, "verdict_id": TEXT, "prediction_id": TEXT, "control_id": TEXT, "judge_id": TEXT,
        "judge_key": TEXT, "repetition": WHOLE, "ask": WHOLE, "is_settled": YES, "is_match": YES, "reason": TEXT,
        "completion": TEXT, "is_completion_escaped": YES, "finish_reason": TEXT, "prompt_tokens": WHOLE,
        "completion_tokens": WHOLE, "latency_ms": REAL, "n_attempts": WHOLE, "cost_usd": REAL, "sampling": TEXT,
        "served_model": TEXT, "system_fingerprint": TEXT, "request_id": TEXT, "request_sha256": TEXT, "source": TEXT,
        "error": TEXT, "landed_at": TIME,
    },
    "format_checks": {
        "audit_run_id": TEXT, "expectation": TEXT, "model_id": TEXT, "task_id": TEXT, "prompt_variant_id": TEXT,
        "observed": REAL, "allowed": REAL, "is_success": YES, "policy": TEXT, "action": TEXT, "reason": TEXT,
        "checked_at": TIME,
    },
    "format_validations": {
        "audit_run_id": TEXT, "validation_id": TEXT, "suite": TEXT, "is_success": YES, "n_expectations": WHOLE,
        "n_failed": WHOLE, "result": TEXT, "gx_version": TEXT, "checked_at": TIME,
    },
    "comparisons": {
        "audit_run_id": TEXT, "comparison_id": TEXT, "base_run_id": TEXT, "candidate_run_id": TEXT,
        "base_model_id": TEXT, "candidate_model_id": TEXT, "min_effect": REAL, "max_cost_increase": REAL,
        "max_latency_increase": REAL, "n_resamples": WHOLE, "seed": pl.Int64(), "is_trial": YES, "requested_at": TIME,
    },
    "baselines": {
        "audit_run_id": TEXT, "audit_id": TEXT, "name": TEXT, "reason": TEXT, "pinned_at": TIME,
    },
    "acceptances": {
        "audit_run_id": TEXT, "audit_id": TEXT, "model_id": TEXT, "task_id": TEXT, "strategy": TEXT, "is_false": YES,
        "reason": TEXT, "accepted_at": TIME,
    },
    "waivers": {
        "audit_run_id": TEXT, "waiver_id": TEXT, "audit_id": TEXT, "rule": TEXT, "model_id": TEXT, "task_id": TEXT,
        "strategy": TEXT, "measure": TEXT, "reason": TEXT, "valid_until": TIME, "accepted_at": TIME,
    },
    "nights": {
        "audit_run_id": TEXT, "night_id": TEXT, "audit_id": TEXT, "step": TEXT, "outcome": TEXT, "recorded_at": TIME,
        "scheduled_at": TIME,
    },
    "alarms": {
        "audit_run_id": TEXT, "alarm_id": TEXT, "audit_id": TEXT, "event": TEXT, "kind": TEXT, "model_id": TEXT,
        "task_id": TEXT, "strategy": TEXT, "measure": TEXT, "base_run_id": TEXT, "summary": TEXT, "reason": TEXT,
        "recorded_at": TIME,
    },
    "notifications": {
        "audit_run_id": TEXT, "notification_id": TEXT, "kind": TEXT, "state": TEXT, "n_targets": WHOLE,
        "error": TEXT, "recorded_at": TIME,
    },
    "retirements": {
        "audit_run_id": TEXT, "table_name": TEXT, "path": TEXT, "n_rows": pl.Int64(), "sha256": TEXT,
        "retired_at": TIME,
    },
    "reports": {"audit_run_id": TEXT, "sha256": TEXT, "name": TEXT, "written_at": TIME},
    "erasures": {
        "audit_run_id": TEXT, "erasure_id": TEXT, "task_id": TEXT, "sample_id": TEXT, "n_rows": TEXT, "reason": TEXT,
        "erased_at": TIME,
    },
    "seals": {
        "audit_run_id": TEXT, "seal_index": pl.Int64(), "reason": TEXT, "manifest": TEXT, "previous_seal": TEXT,
        "seal": TEXT, "sealed_at": TIME,
    },
    "row_digests": {"audit_run_id": TEXT, "seal_index": pl.Int64(), "table_name": TEXT, "digests": pl.Binary()},
}  # fmt: skip


def frame_of(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Returns rows of one raw table as a typed frame; absent columns are NULL, lone surrogates in any text are escaped."""
    schema = SCHEMAS[table]
    columns = {}
    for name, dtype in schema.items():
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pl.Series(name, values, dtype=dtype)
        except UnicodeEncodeError:
            columns[name] = pl.Series(name, [None if v is None else escape(v)[0] for v in values], dtype=dtype)
    return pl.DataFrame(columns)


def reader_json(card: TaskCard) -> str:
    """Returns how a task's completions are read, as JSON: options by labels, open answers as they are, unless a variant says."""
    if card.kind == "multiple_choice":
        return as_json({"option_letter": card.label_names})
    if card.kind == "open_ended":
        return as_json("open")
    if isinstance(card.reader, str):
        return as_json(card.reader)
    from models_registry.cards import PythonReader

    if isinstance(card.reader, PythonReader):
        return as_json({"python": {"function": card.reader.python, "sha256": card.reader.code_sha256}})
    return as_json(card.reader.model_dump())


def task_row(audit_run_id: str, task_id: str, card: TaskCard) -> dict[str, object]:
    """Returns the row of raw.tasks for a task card."""
    return {
        "audit_run_id": audit_run_id, "task_id": task_id, "kind": card.kind, "level": card.level,
        "instruction": card.instruction, "output_format": card.output_format, "reader": reader_json(card),
        "refusal_pattern": card.refusal_pattern, "scoring_methods": as_json(card.scoring_methods),
        "token_f1_threshold": card.token_f1_threshold, "card": card.canonical_json(), "fingerprint": card.fingerprint(),
        "recorded_at": now(),
    }  # fmt: skip


def sample_row(  # noqa: PLR0913 - a row
    audit_run_id: str, task_id: str, index: int, sample: Sample, fields: Mapping[str, str], *, is_critical: bool = False
) -> dict[str, object]:
    """Returns the row of raw.samples for a sample, with the other columns of the data that a prompt used."""
    return {
        "audit_run_id": audit_run_id, "task_id": task_id, "sample_id": sample.sample_id, "sample_index": index,
        "input": sample.text, "gold_label": sample.gold_label,
        "options": as_json(sample.options) if sample.options else None,
        "reference_answers": as_json(sample.references) if sample.references else None, "fields": as_json(fields),
        "cluster": sample.cluster, "is_critical": is_critical,
    }  # fmt: skip


def label_rows(audit_run_id: str, task_id: str, card: TaskCard) -> list[dict[str, object]]:
    """Returns the rows of raw.task_labels for a task card, in its order."""
    return [
        {"audit_run_id": audit_run_id, "task_id": task_id, "label": item.label, "label_index": index,
         "description": item.description}
        for index, item in enumerate(card.labels)
    ]  # fmt: skip
