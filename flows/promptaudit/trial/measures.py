"""Names the measures of a trial, and the columns that describe them."""

from __future__ import annotations

from promptaudit.registry.mart_columns import MartColumn, mart_columns

OF_LABELS = ("sensitivity", "consistency", "micro_f1", "invalid_rate")
ACCURACY = "accuracy:"
"""Begins the name of the accuracy by a scoring method, as in rpt_run_comparisons."""


def column_of(measure: str) -> MartColumn:
    """Finds the column that describes a measure. Accuracies by all scoring methods share one."""
    if measure.startswith(ACCURACY):
        return mart_columns("fct_field_stability")["accuracy"]
    return mart_columns("rpt_audit")[measure]
