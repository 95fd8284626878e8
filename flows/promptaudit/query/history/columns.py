"""Finds the columns, the table and the scoring method of a measure."""

from __future__ import annotations

from typing import NamedTuple

from promptaudit.registry.errors import UsageError, nearest
from promptaudit.registry.gate_columns import OF_ANSWERS
from promptaudit.warehouse import Ask
from promptaudit.warehouse.sql import sql

METHODS = "select distinct scoring_method as name from marts.fct_scoring_sensitivity order by all"
SCORING = "marts.fct_scoring_sensitivity"
OF_JUDGES = "judge_agreement"
# for each scoring method: the measure's name before the colon, its columns
BY_METHOD = {
    "accuracy": ("accuracy_mean", "null", "null"),
    "accuracy_rectified": ("accuracy_rectified", "accuracy_rectified_low", "accuracy_rectified_high"),
    "accuracy_std": ("accuracy_std_corrected", "accuracy_std_corrected_low", "accuracy_std_corrected_high"),
}
COUNTS = ("n_samples", "n_samples_planned", "n_variants", "n_variants_answered", "n_repetitions")


class Source(NamedTuple):
    """The query of a measure's figures over `nights`, and the scoring method whose rows count; None without one."""

    figures: str
    method: str | None


def source_of(ask: Ask, measure: str) -> Source:
    """Finds the source of a measure, also one of judges or answers. Raises UsageError with the nearest name.

    Column names come only from the tables.
    """
    columns = {row["name"]: row["is_numeric"] for row in ask(sql("query.history", "columns"))}
    methods = [row["name"] for row in ask(METHODS)]
    if measure == OF_JUDGES:
        return Source(sql("query.history", "judges"), None)
    name, _, method = measure.partition(":")
    if method in methods and name in BY_METHOD:
        figure, low, high = BY_METHOD[name]
        own = (
            f"figures.scoring_method, null as strategy, figures.{figure} as figure, {low} as low, {high} as high, "
            "figures.n_samples, figures.n_variants, figures.measure_version"
        )
        return Source(_figures(own, SCORING), method)
    numeric = [column for column, is_numeric in columns.items() if is_numeric]
    if measure in OF_ANSWERS:
        return Source(sql("query.history", "sample_values"), measure)
    if measure not in numeric:
        names = [*numeric, OF_JUDGES, *OF_ANSWERS, *(f"{kind}:{method}" for kind in BY_METHOD for method in methods)]
        msg = f"no measure '{measure[:80]}'{nearest(measure, names)}"
        raise UsageError(msg)
    low, high = (f"figures.{end}" if (end := f"{measure}_{side}") in columns else "null" for side in ("low", "high"))
    counts = ", ".join(f"figures.{column}" for column in (*COUNTS, "measure_version"))
    own = f"figures.strategy, figures.{measure} as figure, {low} as low, {high} as high, {counts}"
    return Source(_figures(own, "marts.rpt_audit"), None)


def _figures(columns: str, table: str) -> str:
    return (
        f"select figures.audit_run_id, figures.task_id, figures.model_id, {columns} "  # noqa: S608 - names of ours
        f"from {table} as figures inner join nights using (audit_run_id) order by nights.run_index"
    )
