"""Defines the result of a gate: its rules, the outcome of each, and the rows behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from promptaudit.system.display.encode import NOT_ENCODED, encoded_property
from promptaudit.system.display.figures import cut

Outcome = Literal["passed", "failed", "unmeasured", "first_night", "waived"]
State = Literal["failed", "unmeasured", "waived"]
MAX_NAME = 120
NAMED: Mapping[Outcome, str] = {
    "failed": "failed",
    "unmeasured": "could not be measured",
    "waived": "failed and accepted",
    "first_night": "passed on the first night",
    "passed": "passed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One row that a rule selects and that does not simply pass. `measure` and the names are what a waiver is for."""

    state: State
    measure: str
    model_id: str | None = None
    task_id: str | None = None
    strategy: str | None = None
    others: Mapping[str, str | float | bool] = field(default_factory=dict)  # the row's other keys
    figure: float | None = None
    estimate: str | None = None  # whose interval it is, where that is another figure than the rule's
    value: float | None = None  # of the estimate
    low: float | None = None
    high: float | None = None
    base: float | None = None  # of a comparison
    candidate: float | None = None
    q_value: float | None = None
    cause: str | None = None
    reason: str | None = None
    moved: str | None = None  # in the words of the task
    what_changed: str | None = None
    waived_until: datetime | None = None
    waived_because: str | None = None

    @property
    def key(self) -> str:
        """Joins the measure and the row's other keys. A waiver keeps the result as its measure."""
        return " ".join([self.measure, *(f"{name}={value}" for name, value in self.others.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The outcome of one rule: how many rows it selected, which of them did not simply pass, and how to look closer."""

    rule: str
    outcome: Outcome
    reason: str
    base_run_id: str | None = None  # of a rule about a comparison
    n_rows: int = 0
    rows: tuple[RuleRow, ...] = ()
    look_closer: tuple[str, ...] = ()


class Flip(NamedTuple):
    """A sample that a model answers otherwise than on a normal night, in words."""

    model_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The gate's result for a run."""

    audit_run_id: str
    audit_id: str
    started_at: datetime
    checked_at: datetime
    rules: tuple[RuleResult, ...]
    blocked: str | None = field(default=None, metadata=NOT_ENCODED)
    """Why no rule can be checked on the run at all. None where rules can."""
    flip: Flip | None = field(default=None, metadata=NOT_ENCODED)

    @encoded_property
    def example(self) -> str | None:
        """Shows a sample that is answered otherwise than on a normal night, with both answers. None without one."""
        return None if self.flip is None else self.flip.text

    @encoded_property
    def exit_code(self) -> int:
        """Is 1 if a rule failed, else 3 if one could not be measured, none can be or there is none, else 0."""
        outcomes = {rule.outcome for rule in self.rules}
        if "failed" in outcomes:
            return 1
        return 3 if "unmeasured" in outcomes or self.blocked or not self.rules else 0

    @property
    def counts(self) -> str:
        """Counts the rules by outcome: `3 rules: 1 failed, 2 passed`."""
        n = {outcome: sum(rule.outcome == outcome for rule in self.rules) for outcome in NAMED}
        rules = "1 rule" if len(self.rules) == 1 else f"{len(self.rules)} rules"
        return f"{rules}: {', '.join(f'{count} {NAMED[outcome]}' for outcome, count in n.items() if count)}"

    @encoded_property
    def headline(self) -> str:
        """Says in one line the run and how many rules had which outcome."""
        outcome = self.counts if self.rules else "the audit's card has no gate: nothing is checked"
        outcome += f"; {self.blocked}" if self.blocked and not self.rules else ""
        return f"gate of run {self.audit_run_id} of '{cut(self.audit_id, MAX_NAME)}': {outcome}"
