"""Where the figures of a measure's history come from: its columns, its table, its scoring method."""

from __future__ import annotations

from typing import NamedTuple

from flows.warehouse import Ask
from models_registry.errors import UsageError, nearest

COLUMNS = """
select column_name as name, regexp_matches(data_type, 'INT|DOUBLE|FLOAT|DECIMAL') as is_numeric
from information_schema.columns where table_schema = 'marts' and table_name = 'rpt_audit' order by ordinal_position
"""
METHODS = """
select distinct scoring_method as name from marts.fct_scoring_sensitivity order by all
"""
SCORING = "fct_scoring_sensitivity"
HAS_SCORING = f"select count(*) as n from information_schema.tables where table_name = '{SCORING}'"  # noqa: S608 - ours
# of each scoring method: the measure's name before the colon, its columns
BY_METHOD = {
    "accuracy": ("accuracy_mean", "null", "null"),
    "accuracy_std": ("accuracy_std_corrected", "accuracy_std_corrected_low", "accuracy_std_corrected_high"),
}
COUNTS = ("n_samples", "n_variants", "n_variants_quarantined", "n_repetitions", "measure_version")
_COMMON = "found.audit_run_id, found.task_id, found.model_id, "


class Source(NamedTuple):
    """The columns to select and their table; which scoring method's rows count; whose interval it is, "" without one."""

    columns: str
    table: str
    method: str | None
    interval_of: str


def source_of(ask: Ask, measure: str) -> Source:
    """Where a measure stands; raises UsageError with the nearest name. Column names come from the tables, never from a user."""
    columns = {row["name"]: row["is_numeric"] for row in ask(COLUMNS)}
    methods = [row["name"] for row in ask(METHODS)] if ask(HAS_SCORING)[0]["n"] else []
    name, _, method = measure.partition(":")
    if method in methods and name in BY_METHOD:
        figure, low, high = BY_METHOD[name]
        own = (
            f"found.scoring_method, null as strategy, found.{figure} as figure, {low} as low, {high} as high, "
            "found.n_samples, found.n_variants, found.measure_version"
        )
        return Source(_COMMON + own, f"marts.{SCORING}", method, "" if low == "null" else measure)
    numeric = [column for column, is_numeric in columns.items() if is_numeric]
    if measure not in numeric:
        known = [*numeric, *(f"{kind}:{method}" for kind in BY_METHOD for method in methods)]
        msg = f"no measure '{measure[:80]}'{nearest(measure, known)}"
        raise UsageError(msg)
    low, high = (f"found.{end}" if (end := f"{measure}_{side}") in columns else "null" for side in ("low", "high"))
    counts = ", ".join(f"found.{column}" for column in COUNTS)
    own = f"found.strategy, found.{measure} as figure, {low} as low, {high} as high, {counts}"
    # the published figure is biased by few wordings, its interval is not
    whose = "sensitivity_corrected" if measure == "sensitivity" else measure
    return Source(_COMMON + own, "marts.rpt_audit", None, "" if low == "null" else whose)
