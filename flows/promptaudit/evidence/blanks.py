"""Lists the columns that an erasure empties. `erase` empties them, and `verify` recognises an erased row by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GONE = "[erased]"
LEAST = 12  # characters of a text that is looked for in other rows too; a shorter text is often a label
TEXTS = {
    "raw.samples": ("input", "options", "reference_answers", "fields", "cluster"),
    "raw.predictions": ("completion", "reasoning", "token_logprobs", "error"),
    "raw.failed_predictions": ("completion", "reasoning", "token_logprobs", "error"),
    "raw.attempts": ("error",),
    "raw.judge_controls": ("completion",),
    "raw.verdicts": ("completion", "reason", "error"),
    "marts.dim_samples": ("input", "options", "reference_answers", "fields", "cluster"),
    "marts.fct_predictions": ("completion", "reasoning", "error"),
    "marts.fct_field_values": ("raw_value", "value", "gold_value"),
    "marts.fct_verdicts": ("completion", "reason", "error"),
}
"""Columns that hold a sample's own texts, by table."""
NEEDED = {("attempts", "error"), ("judge_controls", "completion")}  # columns that are never null


def is_blank(table: str, row: Mapping[str, Any]) -> bool:
    """Checks whether a row looks erased: all of its own texts are null, or a text in it has the mark `[erased]`."""
    own = [row[name] for name in TEXTS.get(table, ()) if name in row]
    return any(GONE in value for value in row.values() if isinstance(value, str)) or (
        bool(own) and all(value is None for value in own)
    )
