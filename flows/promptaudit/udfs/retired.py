"""Finds retired runs: their raw rows are in the archive only, so their marts cannot be derived again."""

from __future__ import annotations

HEAVY = ("predictions", "failed_predictions", "attempts", "verdicts", "judge_controls", "rephrasings")
"""The tables of raw that grow with every answer.

Of engines, batches, judges, format_checks and format_validations a run has few rows, which its page and its comparisons
read; dimensions and later runs are built from cards, samples and wordings.
"""

RETIRED_RUNS = " union ".join(
    f"select audit_run_id from raw.retirements anti join raw.{table} using (audit_run_id) where table_name = '{table}'"  # noqa: S608 - ours
    for table in HEAVY
)
