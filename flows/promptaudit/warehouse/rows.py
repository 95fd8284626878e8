"""Builds rows for schema raw: typed frames, with text that any file can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from promptaudit.registry.tables import escape
from promptaudit.system.clock import now
from promptaudit.system.keys import as_json
from promptaudit.warehouse.raw_tables import TABLES

if TYPE_CHECKING:
    from promptaudit.registry.cards import TaskCard
    from promptaudit.registry.samples import Sample


def frame_of(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Builds a typed frame of rows of one raw table.

    Absent columns are NULL, lone surrogates in any text are escaped.
    """
    columns = {}
    for name, dtype in TABLES[table].columns.items():
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pl.Series(name, values, dtype=dtype)
        except UnicodeEncodeError:
            columns[name] = pl.Series(name, [None if v is None else escape(v)[0] for v in values], dtype=dtype)
    return pl.DataFrame(columns)


def reader_json(card: TaskCard) -> str:
    """Describes in JSON how a task's completions are read: options by labels, open answers as they are.

    A variant may say otherwise.
    """
    if card.kind == "multiple_choice":
        return as_json({"option_letter": card.label_names})
    if card.kind == "open_ended":
        return as_json("open")
    if card.kind == "extraction":
        return as_json({"fields": {name: field.reader() for name, field in card.fields.items()}})
    if isinstance(card.reader, str):
        return as_json(card.reader)
    from promptaudit.registry.cards import PythonReader

    if isinstance(card.reader, PythonReader):
        return as_json({"python": {"function": card.reader.python, "sha256": card.reader.code_sha256}})
    return as_json(card.reader.model_dump())


def task_row(audit_run_id: str, task_id: str, card: TaskCard) -> dict[str, object]:
    """Builds the row of raw.tasks for a task card."""
    return {
        "audit_run_id": audit_run_id,
        "task_id": task_id,
        "kind": card.kind,
        "level": card.level,
        "instruction": card.instruction,
        "output_format": card.output_format,
        "reader": reader_json(card),
        "refusal_pattern": card.refusal_pattern,
        "scoring_methods": as_json(card.scoring_methods),
        "token_f1_threshold": card.token_f1_threshold,
        "card": card.canonical_json(),
        "fingerprint": card.fingerprint(),
        "recorded_at": now(),
    }


def sample_row(
    audit_run_id: str, task_id: str, index: int, sample: Sample, fields: Mapping[str, str], *, is_critical: bool = False
) -> dict[str, object]:
    """Builds the row of raw.samples for a sample, with the other columns of the data that a prompt used."""
    return {
        "audit_run_id": audit_run_id,
        "task_id": task_id,
        "sample_id": sample.sample_id,
        "sample_index": index,
        "input": sample.text,
        "gold_label": sample.gold_label,
        "options": as_json(sample.options) if sample.options else None,
        "reference_answers": as_json(sample.references) if sample.references else None,
        "fields": as_json(fields),
        "cluster": sample.cluster,
        "is_critical": is_critical,
    }


def label_rows(audit_run_id: str, task_id: str, card: TaskCard) -> list[dict[str, object]]:
    """Builds the rows of raw.task_labels for a task card, in its order."""
    return [
        {
            "audit_run_id": audit_run_id,
            "task_id": task_id,
            "label": item.label,
            "label_index": index,
            "description": item.description,
        }
        for index, item in enumerate(card.labels)
    ]
