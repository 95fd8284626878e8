"""Defines the result of a gate: its rules, the outcome of each, and the rows behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple

from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.encode import NOT_ENCODED, encoded_property
from promptaudit.system.display.figures import cut, in_unit, moved, number, plural, ranged
from promptaudit.system.display.movement import by_chance

Outcome = Literal["passed", "failed", "unmeasured", "first_night", "waived"]
State = Literal["failed", "unmeasured", "waived"]
MAX_NAME = 120
MAX_TEXT = 300
MAX_REASON = 2000
MAX_RULE = 1000
MOST_ROWS = 20  # of a rule; data has them all
INDENT = " " * 12
RANKS: Mapping[State, int] = {"failed": 0, "unmeasured": 1, "waived": 2}
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

    @property
    def name(self) -> str:
        """Writes the names of the row, cut and safe to print; `all` for a row without any."""
        names = [cut(name, MAX_NAME) for name in (self.model_id, self.task_id, self.strategy) if name is not None]
        names += [f"{name} {cut(str(value), MAX_NAME)}" for name, value in self.others.items()]
        return " / ".join(names) or "all"

    @property
    def figures(self) -> str:
        """Writes the row's figure with its interval, and what is known about it, safe to print."""
        parts = [] if self.moved is None else [self.moved]
        if self.base is not None or self.candidate is not None:
            unit = compared_unit(self.measure)
            parts.append(f"{cut(self.measure, MAX_NAME)} {in_unit(self.base, unit)} -> {in_unit(self.candidate, unit)}")
            parts.append(f"difference {moved(self.figure, self.low, self.high, unit)}")
            if self.q_value is not None:
                parts.append(by_chance(self.q_value))
        elif self.state != "unmeasured" or self.figure is not None:
            if self.estimate in (None, self.measure):
                parts.append(f"{self.measure} {ranged(self.figure, self.low, self.high)}")
            else:
                estimate = f"{self.estimate} {ranged(self.value, self.low, self.high)}"
                parts += [f"{self.measure} {number(self.figure)}", estimate]
        parts += [cut(text, MAX_REASON) for text in (self.reason, self.what_changed) if text]
        if self.state == "waived":
            until = f"accepted until {self.waived_until:%Y-%m-%d %H:%M} UTC"
            parts.append(f"{until}: {cut(self.waived_because or '', MAX_TEXT)}")
        return "; ".join(parts)


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

    def shown_rows(self, shown: set[object] | None = None) -> tuple[list[RuleRow], int]:
        """Picks the rows that text has room for, the ones that decided the outcome first, and counts the rest.

        What moved and what changed stands only at the first row that has it. The set given collects what stood already,
        in earlier rules too.
        """
        shown = set() if shown is None else shown
        rows = []
        for row in sorted(self.rows, key=lambda row: RANKS[row.state])[:MOST_ROWS]:
            moved = (row.model_id, row.task_id, row.strategy, row.moved)
            changed = (row.model_id, row.what_changed)
            rows.append(
                replace(
                    row,
                    moved=None if moved in shown else row.moved,
                    what_changed=None if changed in shown else row.what_changed,
                )
            )
            shown |= {moved, changed}
        return rows, max(0, len(self.rows) - MOST_ROWS)

    def lines(self, shown: set[object] | None = None, options: str = "") -> list[str]:
        """Writes the outcome, a line for each row behind it (see `shown_rows`), and the commands to look closer."""
        outcome = self.outcome.upper().replace("_", " ")
        rows, n_more = self.shown_rows(shown)
        return [
            f"{outcome:<11} {cut(self.rule, MAX_RULE)}: {cut(self.reason, MAX_RULE)}",
            *(f"{INDENT}{row.name}: {row.figures}" for row in rows),
            *([f"{INDENT}and {n_more} more"] if n_more else []),
            *(f"{INDENT}look closer: {cut(command, 2000)}{options}" for command in self.look_closer),
        ]


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
        named = ", ".join(f"{count} {NAMED[outcome]}" for outcome, count in n.items() if count)
        return f"{plural(len(self.rules), 'rule')}: {named}"

    @encoded_property
    def headline(self) -> str:
        """Says in one line the run and how many rules had which outcome."""
        outcome = self.counts if self.rules else "the audit's card has no gate: nothing is checked"
        outcome += f"; {self.blocked}" if self.blocked and not self.rules else ""
        return f"gate of run {self.audit_run_id} of '{cut(self.audit_id, MAX_NAME)}': {outcome}"

    def lines(self, options: str = "") -> list[str]:
        """Writes everything a terminal shows of the gate. The commands to look closer end with the options."""
        example = [] if self.example is None else [f"{'EXAMPLE':<11} {self.example}"]
        shown: set[object] = set()
        return [self.headline, *(line for rule in self.rules for line in rule.lines(shown, options)), *example]
