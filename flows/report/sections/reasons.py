"""Sentences on why a section has nothing to show of a task."""

from __future__ import annotations

from collections.abc import Sequence

from flows.report.gather import ReportData
from flows.warehouse import Row

OLDER = (
    "An older version derived this run, without these figures; `promptaudit rebuild` adds them (with --restore where its raw "
    "rows are in the archive)."
)


def why_no_answers(rows: Sequence[Row]) -> str | None:
    """Returns why a task has nothing to measure at all, None where it has; `rows` are its rows of the scorecard."""
    if not sum(row["n_landed"] or 0 for row in rows):
        return "No answer has landed yet."
    if all(row["n_variants_quarantined"] == row["n_variants"] for row in rows):
        return "Every prompt variant is quarantined by the format gate, so nothing is left to measure."
    return None


def why_in_part(rows: Sequence[Row]) -> str | None:
    """Returns why a task has none of the measures that need all wordings, None where one of its rows has them.

    Args:
        rows: the task's rows of the scorecard; those of a copy that an earlier version published say nothing of it.
    """
    if not rows or any(row.get("wordings_per_sample") is None for row in rows):
        return None
    return "Each sample was asked under some of the wordings alone, and this needs every sample under all of them."


def why_open(data: ReportData, task_id: str) -> str | None:
    """Returns why an open-ended task has none of the measures of labels, None for a task with labels."""
    kinds = {row["task_id"]: row["kind"] for row in data.tasks}
    return "An open-ended task has no labels to measure this by." if kinds.get(task_id) == "open_ended" else None


def why_older(data: ReportData) -> str | None:
    """Returns why a run that was derived before its aggregates became marts has none of them."""
    if data.answer_totals or not any(row["n_landed"] for row in data.scorecard):
        return None
    return OLDER


def why_one_wording(rows: Sequence[Row], measure: str) -> str:
    """Returns why a measure over wordings is missing; `rows` are the task's rows of the scorecard."""
    if nothing := why_no_answers(rows):
        return nothing
    if max(row["n_variants"] - row["n_variants_quarantined"] for row in rows) < 2:  # noqa: PLR2004
        return f"Only one wording was asked, and {measure} needs two."
    return f"Too few answers can be compared for {measure}."
