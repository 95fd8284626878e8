"""What a gate said of a run: rules, outcomes, the rows behind them; for terminals and as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from datetime import datetime
from typing import Literal

from flows.display.figures import cut, number, ranged

Outcome = Literal["passed", "failed", "unmeasured", "first_night", "waived"]
State = Literal["failed", "unmeasured", "waived"]
MOST_ROWS = 20  # of a rule, in text; data has them all
MAX_NAME = 120
MAX_SAID = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """One row that a rule selects and that does not simply pass; `measure` and the names are what a waiver is for."""

    state: State
    measure: str
    model_id: str | None = None
    task_id: str | None = None
    strategy: str | None = None
    _: KW_ONLY
    others: Mapping[str, str | float | bool] = field(default_factory=dict)  # what else tells the row apart
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
    waived_until: datetime | None = None
    waived_because: str | None = None

    @property
    def key(self) -> str:
        """The measure, with what else tells the row apart: what a waiver keeps as its measure."""
        return " ".join([self.measure, *(f"{name}={value}" for name, value in self.others.items())])

    def where(self) -> str:
        """The names of the row, cut and safe to print."""
        names = [cut(name, MAX_NAME) for name in (self.model_id, self.task_id, self.strategy) if name is not None]
        names += [f"{name} {cut(str(value), MAX_NAME)}" for name, value in self.others.items()]
        return " / ".join(names) or "all"

    def found(self) -> str:
        """The figure with its interval, and what is known about it, safe to print."""
        parts = []
        if self.base is not None or self.candidate is not None:
            parts.append(f"{cut(self.measure, MAX_NAME)} {number(self.base)} -> {number(self.candidate)}")
            parts.append(f"difference {ranged(self.figure, self.low, self.high)}")
            if self.q_value is not None:
                parts.append(f"q {number(self.q_value, 4)}")
        elif self.state != "unmeasured" or self.figure is not None:
            own = self.estimate in (None, self.measure)
            parts.append(f"{self.measure} {ranged(self.figure, *((self.low, self.high) if own else (None, None)))}")
            if not own:
                parts.append(f"{self.estimate} {ranged(self.value, self.low, self.high)}")
        if self.reason:
            parts.append(cut(self.reason, MAX_SAID))
        if self.state == "waived":
            parts.append(
                f"accepted until {self.waived_until:%Y-%m-%d %H:%M} UTC: {cut(self.waived_because or '', MAX_SAID)}"
            )
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one rule: `n_rows` it selected, those among them that did not simply pass, how to look closer."""

    rule: str
    outcome: Outcome
    reason: str
    n_rows: int = 0
    findings: tuple[Finding, ...] = ()
    base_run_id: str | None = None  # of a rule about a comparison
    look_closer: tuple[str, ...] = ()

    def shown(self) -> tuple[tuple[Finding, ...], int]:
        """The findings that text has room for, those that decided the outcome first, and how many are left out."""
        order = {"failed": 0, "unmeasured": 1, "waived": 2}
        ranked = sorted(self.findings, key=lambda finding: order[finding.state])
        return tuple(ranked[:MOST_ROWS]), max(0, len(ranked) - MOST_ROWS)

    def lines(self) -> list[str]:
        """For people: the rule, what was found, row by row, and the command to look closer."""
        out = [f"{self.outcome.upper().replace('_', ' '):<11} {cut(self.rule, 1000)}: {cut(self.reason, 1000)}"]
        findings, n_more = self.shown()
        out += [f"            {finding.where()}: {finding.found()}" for finding in findings]
        if n_more:
            out.append(f"            and {n_more} more")
        return out + [f"            look closer: {cut(command, 2000)}" for command in self.look_closer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the gate said of a run."""

    audit_run_id: str
    audit_id: str
    started_at: datetime
    checked_at: datetime
    results: tuple[Result, ...]
    blocked: str | None = None  # why no rule can be held against the run, whatever rules there are

    @property
    def exit_code(self) -> int:
        """1 if a rule failed, else 3 if one could not be measured or none can be, else 0."""
        outcomes = {result.outcome for result in self.results}
        return 1 if "failed" in outcomes else 3 if "unmeasured" in outcomes or self.blocked else 0

    @property
    def counts(self) -> str:
        """How many rules came out how."""
        n = {outcome: sum(result.outcome == outcome for result in self.results) for outcome in NAMED}
        rules = "1 rule" if len(self.results) == 1 else f"{len(self.results)} rules"
        return f"{rules}: {', '.join(f'{count} {NAMED[outcome]}' for outcome, count in n.items() if count)}"

    @property
    def headline(self) -> str:
        """One line: the run, and how many rules came out how."""
        outcome = self.counts if self.results else "the audit's card has no gate: nothing is checked"
        outcome += f"; {self.blocked}" if self.blocked and not self.results else ""
        return f"gate of run {self.audit_run_id} of '{cut(self.audit_id, MAX_NAME)}': {outcome}"

    def lines(self) -> list[str]:
        """For people."""
        return [self.headline, *(line for result in self.results for line in result.lines())]

    def as_dict(self) -> dict[str, object]:
        """For --json: every row, in full precision."""
        return {
            "audit_run_id": self.audit_run_id,
            "audit_id": self.audit_id,
            "started_at": self.started_at.isoformat(),
            "checked_at": self.checked_at.isoformat(),
            "exit_code": self.exit_code,
            "headline": self.headline,
            "rules": [
                {
                    "rule": result.rule,
                    "outcome": result.outcome,
                    "reason": result.reason,
                    "base_run_id": result.base_run_id,
                    "n_rows": result.n_rows,
                    "rows": [_as_dict(finding) for finding in result.findings],
                    "look_closer": list(result.look_closer),
                }
                for result in self.results
            ],
        }


NAMED: Mapping[Outcome, str] = {
    "failed": "failed",
    "unmeasured": "could not be measured",
    "waived": "failed and accepted",
    "first_night": "passed on the first night",
    "passed": "passed",
}


def _as_dict(finding: Finding) -> dict[str, object]:
    row = asdict(finding)
    until = finding.waived_until
    return row | {"others": dict(finding.others), "waived_until": None if until is None else until.isoformat()}
