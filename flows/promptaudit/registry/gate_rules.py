"""Defines the parsed rules of a gate: frozen, comparable, and written back in the grammar's words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from promptaudit.registry.gate_columns import (
    BY_METHOD,
    CHANGED,
    COUNTED,
    MICRO_F1,
    OF_JUDGES,
    Columns,
    compared_as,
)

VERDICTS = ("regressed", "changed")
WITHOUT_INTERVAL = ("cost_usd", "latency_ms")
JUDGE = "judge:"
LAST_NIGHT, BASELINE = "last_night", "baseline"
INSIDE = ":"  # begins a reference to a model or a strategy of the same run
_BARE = re.compile(r"[^\s\"<>=!\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the rows of a rule: a column against a text, a number or a boolean.

    `op` is one of < <= > >= = !=.
    """

    column: str
    op: str
    value: str | float | bool

    def __str__(self) -> str:
        """Writes the condition in the grammar's words."""
        return f"{self.column} {self.op} {_written(self.value)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRule:
    """A limit on a column: `column` is the rule's word for column `figure` of the mart `columns.table`."""

    column: str
    op: str
    limit: float
    conditions: tuple[Condition, ...]
    columns: Columns
    figure: str
    implied: tuple[Condition, ...]

    @property
    def table(self) -> str:
        """Names the mart that the rule reads."""
        return self.columns.table

    def __str__(self) -> str:
        """Writes the rule in the grammar's words.

        Rules that mean the same give the same text, whatever their spaces.
        """
        return f"{self.column} {self.op} {_written(self.limit)}{_at(self.conditions)}"


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """A verdict that no row of a comparison may have."""

    verdict: str
    measure: str | None
    reference: str
    conditions: tuple[Condition, ...]

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Lists the verdicts that no row may have."""
        return (self.verdict,)

    def is_of(self, model_id: str) -> bool:
        """Checks whether the rule covers a model of the nights: every model that is no judge."""
        return not model_id.startswith(JUDGE)

    def said_of(self, n: int) -> str:
        """Writes its verdict on so many figures, in words."""
        return f"{'is' if n == 1 else 'are'} {self.verdict}"

    def is_about(self, measure: str) -> bool:
        """Checks whether the rule selects a measure of rpt_run_comparisons or of rpt_night_verdicts."""
        return _is_about(self.measure, measure, are_changed=self.verdict == "changed")

    def __str__(self) -> str:
        """Writes the rule in the grammar's words."""
        on = "" if self.measure is None else f" on {_written(self.measure)}"
        against = "" if self.reference == LAST_NIGHT else f" against {_written(self.reference)}"
        return f"no {self.verdict}{on}{against}{_at(self.conditions)}"


@dataclass(frozen=True, slots=True)
class SameRule:
    """A bound for the interval of every difference from a run: on both sides, or on the bad one alone.

    `limit` is None for the smallest effect that counts by the audit's card.
    """

    measure: str | None
    reference: str
    limit: float | None
    is_one_sided: bool
    conditions: tuple[Condition, ...]

    def is_about(self, measure: str) -> bool:
        """Checks whether the rule selects a measure of rpt_run_comparisons.

        Without a measure of its own it selects all that have an interval and a better side; two-sided it also selects
        label_churn.
        """
        if self.measure is None and measure == COUNTED:
            return not self.is_one_sided
        return measure not in WITHOUT_INTERVAL and _is_about(self.measure, measure, are_changed=self.measure == COUNTED)

    def __str__(self) -> str:
        """Writes the rule in the grammar's words."""
        on = "" if self.measure is None else f" on {_written(self.measure)}"
        by = "" if self.limit is None else f" by {_written(self.limit)}"
        beginning = f"no worse{on} than" if self.is_one_sided else f"same{on} as"
        return f"{beginning} {_written(self.reference)}{by}{_at(self.conditions)}"


@dataclass(frozen=True, slots=True)
class DriftRule:
    """A judge, `judge:<card>`, that may have no alarm in a night, of either sign. Conditions are on task and cause."""

    judge: str
    conditions: tuple[Condition, ...]

    measure = None
    verdicts = ("regressed", "changed", "improved")

    def is_of(self, model_id: str) -> bool:
        """Checks whether the rule covers a model of the nights: its judge alone."""
        return model_id == self.judge

    def said_of(self, n: int) -> str:
        """Says in words that so many figures drifted."""
        return "has drifted" if n == 1 else "have drifted"

    def is_about(self, measure: str) -> bool:
        """Checks whether the rule selects a measure of the nights."""
        return measure in OF_JUDGES

    def __str__(self) -> str:
        """Writes the rule in the grammar's words."""
        return f"no drift of {_written(self.judge)}{_at(self.conditions)}"


@dataclass(frozen=True, slots=True)
class LostRule:
    """No sample may be wrong in all its asks that was right in all of them on normal nights.

    Conditions are on names.
    """

    conditions: tuple[Condition, ...]

    measure = None

    def __str__(self) -> str:
        """Writes the rule in the grammar's words."""
        return f"no sample lost{_at(self.conditions)}"


Rule = ValueRule | VerdictRule | SameRule | DriftRule | LostRule


def part_of(text: str, models: Collection[str]) -> tuple[str | None, str | None]:
    """Splits `MODEL`, `:STRATEGY` or `MODEL:STRATEGY` into model and strategy; a model's own name may have colons."""
    if text in models or ":" not in text:
        return text or None, None
    model, _, strategy = text.rpartition(":")
    return model or None, strategy


def _is_about(named: str | None, measure: str, *, are_changed: bool) -> bool:
    # without a named measure: all that have a better side, or with `are_changed` all that have none
    if measure in OF_JUDGES:
        return False
    if named is None:
        return (measure in CHANGED) == are_changed
    if named == "accuracy" and measure == MICRO_F1:
        return True
    return measure == compared_as(named) or (named in BY_METHOD and measure.startswith(named + ":"))


def _written(value: str | float | bool) -> str:  # noqa: FBT001 - a value of any kind
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) else f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def _at(conditions: Iterable[Condition]) -> str:
    joined = " and ".join(str(condition) for condition in conditions)
    return f" at {joined}" if joined else ""
