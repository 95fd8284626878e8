"""The columns a gate's rules may name, from the contracts of the marts and the `meta` of their measures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from promptaudit.registry.mart_columns import ENDS, MartColumn, Range, mart_columns

TEMPERATURE = "paraphrase_temperature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What rules may name of one mart: `keys` are texts that tell rows apart; figures, flags and temperatures follow."""

    table: str
    keys: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, MartColumn]:
        """Returns the columns of the mart's contract by name."""
        return mart_columns(self.table)

    @property
    def figures(self) -> Mapping[str, Range]:
        """Returns the columns with a unit, each with the least and the most that a limit on it may be."""
        return {name: column.limits for name, column in self.columns.items() if column.unit is not None}

    @property
    def flags(self) -> tuple[str, ...]:
        """Returns the columns that are true or false."""
        return tuple(name for name, column in self.columns.items() if column.data_type == "boolean")

    @property
    def temperatures(self) -> tuple[str, ...]:
        """Returns the column of the paraphrase temperature, a number that tells rows apart, where there is one."""
        return (TEMPERATURE,) if TEMPERATURE in self.columns else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Returns every column that a condition may name."""
        return (*self.keys, *self.temperatures, *self.flags, *self.figures)

    def interval_of(self, figure: str) -> tuple[str, str, str] | None:
        """Returns the column of the estimate that an interval belongs to, and of both ends; None for what has no interval."""
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
    """Returns the name that comparisons have for a measure: accuracy by a rule that looks at the label alone is micro_f1."""
    return MICRO_F1 if measure in OF_LABELS else measure


@functools.cache
def compared_measures() -> tuple[str, ...]:
    """Returns the measures that a verdict rule may name: those that comparisons have a row for."""
    own = dict.fromkeys(column.compared for column in mart_columns("rpt_audit").values() if column.compared is not None)
    return (*own, COUNTED, *BY_METHOD, "cost_usd", "latency_ms")
