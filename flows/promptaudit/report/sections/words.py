"""Writes sentences of the sections: least and largest figures, whose they are, and why a task has nothing to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from promptaudit.registry.mart_columns import mart_columns
from promptaudit.report.blocks.blocks import by
from promptaudit.system.display.figures import cut, number, ranged
from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from promptaudit.report.data import ReportData

NAME = 60  # characters of a name in a sentence


def known_rows(data: ReportData, rows: Iterable[Row], column: str) -> list[Row]:
    """Keeps the rows that have a figure, without reference models if any other model is left."""
    known = [row for row in rows if row.get(column) is not None]
    references = data.reference_models
    return [row for row in known if row.get("model_id") not in references] or known


def whose(row: Row, *names: str) -> str:
    """Names the model, task and strategy of a row, or the given columns instead."""
    known = [row.get(name) for name in names or ("model_id", "task_id", "strategy")]
    return ", ".join(cut(name, NAME) for name in known if name is not None)


def of_extreme(
    rows: Callable[[ReportData], Iterable[Row]], column: str, pick: Callable[..., Row | None] = max, otherwise: str = ""
) -> Callable[[Callable[[Row, ReportData], str]], Callable[[ReportData], str]]:
    """Makes a finding from a sentence about the row with the largest known figure, or the row that `pick` chooses.

    Without any such row the finding is `otherwise`.
    """

    def of(sentence: Callable[[Row, ReportData], str]) -> Callable[[ReportData], str]:
        def finding(data: ReportData) -> str:
            row = pick(known_rows(data, rows(data), column), key=lambda row: row[column], default=None)
            return otherwise if row is None else sentence(row, data)

        return finding

    return of


def ends(data: ReportData, what: str, rows: Iterable[Row], column: str, *names: str) -> str:
    """Says what the least and the largest known figure are and whose; empty without any."""
    known = known_rows(data, rows, column)
    if not known:
        return ""
    least, most = min(known, key=lambda row: row[column]), max(known, key=lambda row: row[column])
    if least is most:
        return f"{what} {number(least[column])} for {whose(least, *names)}"
    return f"{what} {number(least[column])} ({whose(least, *names)}) to {number(most[column])} ({whose(most, *names)})"


def means_of(rows: Sequence[Row], name: str, column: str) -> dict[str, float]:
    """Maps each value of the column `name` to the mean of a figure over its rows."""
    return {key: sum(row[column] for row in own) / len(own) for key, own in by(rows, name).items()}


def with_ends(row: Row, column: str) -> str:
    """Prints a figure of a row with its interval."""
    return ranged(*(row[f"{column}{end}"] for end in ("", "_low", "_high")))


def renamed(row: Row, names: Mapping[str, str]) -> Row:
    """Takes columns of a row under other names, as charts have them."""
    return {name: row[column] for name, column in names.items()}


def class_of(row: Row) -> str:
    """Names the class of a row."""
    return f"Class {cut(row['gold_label'], NAME)}"


WITHOUT_LABELS = {
    "open_ended": "An open-ended task has no labels to measure this by.",
    "extraction": "A task of fields has no labels to measure this by; its measures stand field by field.",
}
"""Maps each kind of task without labels to the reason why measures of labels are missing."""
NO_CLASSES = "No sample of this task has a gold label, so there are no classes to compare."
NO_GOLD = "No sample of this task has a gold label, so no answer can be called right or wrong."
ASKED_ONCE = "No original wording was asked twice, so there are no repetitions to compare."
REWORDED_ONCE = "No prompt variant but the original was asked twice, so prompt and noise cannot be told apart."
NO_PRICE = "No price of these answers is known."


def why_no_answers(rows: Sequence[Row]) -> str | None:
    """Says why a task has nothing to measure at all; None if it has. `rows` are its rows of the scorecard."""
    if not sum(row["n_landed"] or 0 for row in rows):
        return "No answer has landed yet."
    if not any(row["n_variants_answered"] for row in rows):
        return "Every ask ended in an error, so there is nothing to measure."
    return None


def why_open(data: ReportData, task_id: str) -> str | None:
    """Says why a task without labels has no measures of labels; None for a task with labels."""
    kinds = {row["task_id"]: row["kind"] for row in data.tasks}
    return WITHOUT_LABELS.get(kinds.get(task_id, ""))


def why_one_variant(rows: Sequence[Row], measure: str) -> str:
    """Says why a measure over prompt variants is missing. `rows` are the task's rows of the scorecard."""
    if nothing := why_no_answers(rows):
        return nothing
    if max(row["n_variants_answered"] for row in rows) < 2:  # noqa: PLR2004
        return f"Only one prompt variant was asked, and {measure} needs two."
    return f"Too few answers can be compared for {measure}."


def why_no_figure(row: Row, measure: str, kind: str) -> str:  # noqa: PLR0911 - a reason each
    """Says why a row of the scorecard lacks a figure of a measure. `kind` is its task's kind."""
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
    label = "PSS over prompt variants" if measure == "pss_inter" else mart_columns("rpt_audit")[measure].label.lower()
    return why_one_variant([row], label)
