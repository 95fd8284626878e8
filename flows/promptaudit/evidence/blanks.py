"""Says what an erasure takes out of a row and what it leaves there: `erase` writes it, `verify` knows it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GONE = "[erased]"
LEAST = 12  # characters of a text that is looked for in other rows too: what is shorter is a label as often as not
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
"""Columns that hold a sample's own texts."""
NEEDED = {("attempts", "error"), ("judge_controls", "completion")}  # columns that hold a text always


def is_blank(table: str, row: Mapping[str, Any]) -> bool:
    """Returns whether a row is what an erasure leaves: without its own texts, or with a mark where it quoted one."""
    own = [row[name] for name in TEXTS.get(table, ()) if name in row]
    return any(GONE in value for value in row.values() if isinstance(value, str)) or (
        bool(own) and all(value is None for value in own)
    )
