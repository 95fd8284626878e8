"""Where the figures of a measure's history come from: its columns, its table, its scoring method."""

from __future__ import annotations

from typing import NamedTuple

from flows.warehouse import Ask
from flows.warehouse.schema import TABLES
from flows.warehouse.sql import sql
from models_registry.errors import UsageError, nearest
from models_registry.mart_columns import mart_columns

METHODS = "select distinct scoring_method as name from marts.fct_scoring_sensitivity order by all"
SCORING = "marts.fct_scoring_sensitivity"
# of each scoring method: the measure's name before the colon, its columns
BY_METHOD = {
    "accuracy": ("accuracy_mean", "null", "null"),
    "accuracy_std": ("accuracy_std_corrected", "accuracy_std_corrected_low", "accuracy_std_corrected_high"),
}
COUNTS = ("n_samples", "n_variants", "n_variants_quarantined", "n_repetitions", "measure_version")


class Source(NamedTuple):
    """The query of its figures in `nights`; which scoring method's rows count; whose interval it is, "" without one."""

    figures: str
    method: str | None
    interval_of: str


def source_of(ask: Ask, measure: str) -> Source:
    """Where a measure stands; raises UsageError with the nearest name. Column names come from the tables, never from a user."""
    columns = {row["name"]: row["is_numeric"] for row in ask(sql("history", "columns"))}
    methods = [row["name"] for row in ask(METHODS)] if SCORING in {row["name"] for row in ask(TABLES)} else []
    name, _, method = measure.partition(":")
    if method in methods and name in BY_METHOD:
        figure, low, high = BY_METHOD[name]
        own = (
            f"found.scoring_method, null as strategy, found.{figure} as figure, {low} as low, {high} as high, "
            "found.n_samples, found.n_variants, found.measure_version"
        )
        return Source(_figures(own, SCORING), method, "" if low == "null" else measure)
    numeric = [column for column, is_numeric in columns.items() if is_numeric]
    if measure not in numeric:
        known = [*numeric, *(f"{kind}:{method}" for kind in BY_METHOD for method in methods)]
        msg = f"no measure '{measure[:80]}'{nearest(measure, known)}"
        raise UsageError(msg)
    low, high = (f"found.{end}" if (end := f"{measure}_{side}") in columns else "null" for side in ("low", "high"))
    counts = ", ".join(f"found.{column}" for column in COUNTS)
    own = f"found.strategy, found.{measure} as figure, {low} as low, {high} as high, {counts}"
    declared = mart_columns("rpt_audit").get(measure)  # None: a column of a later version, or of one's own
    whose = measure if declared is None else declared.estimate
    return Source(_figures(own, "marts.rpt_audit"), None, "" if low == "null" else whose)


def _figures(columns: str, table: str) -> str:
    return (
        f"select found.audit_run_id, found.task_id, found.model_id, {columns} "  # noqa: S608 - names of ours
        f"from {table} as found inner join nights using (audit_run_id) order by nights.started_at, found.audit_run_id"
    )
