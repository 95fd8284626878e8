"""Sentences on why a section has nothing to show of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptaudit.registry.mart_columns import mart_columns
from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from promptaudit.report.data import ReportData

WITHOUT_LABELS = {
    "open_ended": "An open-ended task has no labels to measure this by.",
    "extraction": "A task of fields has no labels to measure this by; its measures stand field by field.",
}
"""Why a kind of task has none of the measures of labels."""
NO_CLASSES = "No sample of this task has a gold label, so there are no classes to compare."
NO_GOLD = "No sample of this task has a gold label, so no answer can be called right or wrong."
ASKED_ONCE = "No original wording was asked twice, so there are no repetitions to compare."
REWORDED_ONCE = "No prompt variant but the original was asked twice, so prompt and noise cannot be told apart."
NO_PRICE = "No price of these answers is known."


def why_no_answers(rows: Sequence[Row]) -> str | None:
    """Returns why a task has nothing to measure at all, None where it has; `rows` are its rows of the scorecard."""
    if not sum(row["n_landed"] or 0 for row in rows):
        return "No answer has landed yet."
    if not any(row["n_variants_answered"] for row in rows):
        return "Every ask ended in an error, so there is nothing to measure."
    return None


def why_open(data: ReportData, task_id: str) -> str | None:
    """Returns why a task without labels has none of the measures of labels, None for a task with labels."""
    kinds = {row["task_id"]: row["kind"] for row in data.tasks}
    return WITHOUT_LABELS.get(kinds.get(task_id, ""))


def why_one_variant(rows: Sequence[Row], measure: str) -> str:
    """Returns why a measure over prompt variants is missing; `rows` are the task's rows of the scorecard."""
    if nothing := why_no_answers(rows):
        return nothing
    if max(row["n_variants_answered"] for row in rows) < 2:  # noqa: PLR2004
        return f"Only one prompt variant was asked, and {measure} needs two."
    return f"Too few answers can be compared for {measure}."


def why_no_figure(row: Row, measure: str, kind: str) -> str:  # noqa: PLR0911 - a reason each
    """Returns why a row of the scorecard, whose task is of a kind, has no figure of a measure."""
    if nothing := why_no_answers([row]):
        return nothing
    if measure == "cost_usd":
        return NO_PRICE
    if kind in WITHOUT_LABELS:
        return WITHOUT_LABELS[kind]
    if measure == "pss_intra":
        return ASKED_ONCE
    if measure == "micro_f1":
        return NO_GOLD
    if measure == "consistency" and row["micro_f1"] is None:
        return NO_CLASSES
    if measure == "wording_share" and row["sensitivity"] is not None:
        return REWORDED_ONCE
    return why_one_variant(
        [row], {"pss_inter": "PSS over prompt variants"}.get(measure, mart_columns("rpt_audit")[measure].label.lower())
    )
