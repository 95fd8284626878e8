"""Collects the columns that a gate's rules may name, from the contracts of marts and the `meta` of measures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from promptaudit.registry.mart_columns import ENDS, MartColumn, Range, mart_columns

TEMPERATURE = "paraphrase_temperature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of one mart that rules may name.

    `keys` are texts that distinguish rows; the others come from its contract.
    """

    table: str
    keys: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, MartColumn]:
        """Maps the names in the mart's contract to their columns."""
        return mart_columns(self.table)

    @property
    def figures(self) -> Mapping[str, Range]:
        """Maps the columns with a unit to the least and the most that a limit on each may be."""
        return {name: column.limits for name, column in self.columns.items() if column.unit is not None}

    @property
    def flags(self) -> tuple[str, ...]:
        """Lists the columns that are true or false."""
        return tuple(name for name, column in self.columns.items() if column.data_type == "boolean")

    @property
    def temperatures(self) -> tuple[str, ...]:
        """Lists the column of the paraphrase temperature, a number that distinguishes rows.

        Empty if the mart has none.
        """
        return (TEMPERATURE,) if TEMPERATURE in self.columns else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Lists every column that a condition may name."""
        return (*self.keys, *self.temperatures, *self.flags, *self.figures)

    def interval_of(self, figure: str) -> tuple[str, str, str] | None:
        """Gives the columns of an interval: its estimate and its two ends; None for a figure without an interval."""
        measure = next((figure.removesuffix(end) for end in ENDS if figure.endswith(end)), figure)
        low, high = (measure + end for end in ENDS)
        if low not in self.figures:
            return None
        return self.columns.get(measure, self.columns[low]).interval or measure, low, high


TABLES: tuple[Columns, ...] = (  # a rule reads the first that has all it names
    Columns(table="rpt_audit", keys=("model_id", "task_id", "strategy")),
    Columns(
        table="fct_prompt_stability",
        keys=("model_id", "task_id", "strategy", "scope", "series", "annotation_filter"),
    ),
    Columns(table="fct_scoring_sensitivity", keys=("model_id", "task_id", "scoring_method")),
    Columns(table="fct_ranking_consistency", keys=("task_id", "scoring_method", "model_set")),
    Columns(table="fct_judge_agreement", keys=("task_id", "raters", "kind")),
    Columns(table="rpt_judge_anchors", keys=("task_id", "scoring_method")),
    Columns(table="fct_field_stability", keys=("model_id", "task_id", "strategy", "field")),
)
COMPARISONS = Columns(table="rpt_run_comparisons", keys=("model_id", "task_id", "strategy", "cause", "claim"))

# rpt_audit's names over fct_prompt_stability, once a condition names what only that table has
SCOPES = ("inter_same_meaning", "inter_model", "inter", "intra")  # the longer name first: one begins with the other
USUAL = {"series": "all", "annotation_filter": "labels_and_na"}  # what rpt_audit shows
KNOWN_VALUES = {
    "scope": ("intra", "inter", "inter_same_meaning", "inter_model"),
    "series": ("cumulative", "adjacent", "all"),
    "annotation_filter": ("verbatim", "labels_and_na", "valid", "valid_balanced"),
}
COUNTED = "label_churn"
OF_ANSWERS = ("answer_length", "completion_tokens", "token_limit_rate", "refusal_rate")  # of nights alone
CHANGED = (COUNTED, *OF_ANSWERS)  # any change of these is one, and never worse or better
OF_JUDGES = ("judge_agreement", "judge_match_rate")  # measures of a judge's nights, of which no rule on models is about
MICRO_F1 = "micro_f1"
BY_METHOD = ("accuracy", "accuracy_std")  # a measure each by scoring method: accuracy:token_f1
OF_LABELS = (
    "accuracy:label_match",
    "accuracy:option_letter",
)  # names of micro_f1, which is compared under its own alone


def compared_as(measure: str) -> str:
    """Gives the name of a measure in comparisons: accuracy by a rule that looks only at the label is micro_f1."""
    return MICRO_F1 if measure in OF_LABELS else measure


@functools.cache
def compared_measures() -> tuple[str, ...]:
    """Lists the measures that a verdict rule may name: every measure with a row in comparisons."""
    own = dict.fromkeys(column.compared for column in mart_columns("rpt_audit").values() if column.compared is not None)
    return (*own, COUNTED, *BY_METHOD, "cost_usd", "latency_ms")
