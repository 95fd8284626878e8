"""Writes the gate's results for people: rules, the rows behind their outcomes, and what was accepted or pinned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptaudit.gate.outcome import MAX_NAME
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.figures import cut, in_unit, moved, number, ranged, when
from promptaudit.system.display.movement import by_chance

if TYPE_CHECKING:
    from promptaudit.gate.accept import AcceptResult, PinResult
    from promptaudit.gate.end_alarms import EndedAlarms
    from promptaudit.gate.outcome import GateResult, RuleResult, RuleRow

MOST_ROWS = 20  # of a rule; data has them all
MAX_TEXT = 300
MAX_REASON = 2000
MAX_RULE = 1000
INDENT = " " * 12
RANKS = {"failed": 0, "unmeasured": 1, "waived": 2}


def lines_of(result: GateResult, options: str = "") -> list[str]:
    """Writes everything a terminal shows of a gate. The commands to look closer end with the options."""
    example = [] if result.example is None else [f"{'EXAMPLE':<11} {result.example}"]
    shown: set[object] = set()
    return [result.headline, *(line for rule in result.rules for line in lines_of_rule(rule, shown, options)), *example]


def lines_of_rule(rule: RuleResult, shown: set[object] | None = None, options: str = "") -> list[str]:
    """Writes a rule's outcome, a line for each row behind it (see `shown_rows`), and the commands to look closer."""
    lines = [f"{rule.outcome.upper().replace('_', ' '):<11} {cut(rule.rule, MAX_RULE)}: {cut(rule.reason, MAX_RULE)}"]
    rows, n_more = shown_rows(rule, shown)
    lines += [f"{INDENT}{name_of(row)}: {figures_of(row)}" for row in rows]
    if n_more:
        lines.append(f"{INDENT}and {n_more} more")
    return lines + [f"{INDENT}look closer: {cut(command, 2000)}{options}" for command in rule.look_closer]


def shown_rows(rule: RuleResult, shown: set[object] | None = None) -> tuple[list[RuleRow], int]:
    """Picks the rows that text has room for, the ones that decided the outcome first, and counts the rest.

    What moved and what changed stands only at the first row that has it. The set given collects what stood already, in
    earlier rules too.
    """
    ranked = sorted(rule.rows, key=lambda row: RANKS[row.state])
    shown = set() if shown is None else shown
    rows = []
    for row in ranked[:MOST_ROWS]:
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
    return rows, max(0, len(ranked) - MOST_ROWS)


def name_of(row: RuleRow) -> str:
    """Writes the names of a row, cut and safe to print; `all` for a row without any."""
    names = [cut(name, MAX_NAME) for name in (row.model_id, row.task_id, row.strategy) if name is not None]
    names += [f"{name} {cut(str(value), MAX_NAME)}" for name, value in row.others.items()]
    return " / ".join(names) or "all"


def figures_of(row: RuleRow) -> str:
    """Writes a row's figure with its interval, and what is known about it, safe to print."""
    parts = [] if row.moved is None else [row.moved]
    if row.base is not None or row.candidate is not None:
        unit = compared_unit(row.measure)
        parts.append(f"{cut(row.measure, MAX_NAME)} {in_unit(row.base, unit)} -> {in_unit(row.candidate, unit)}")
        parts.append(f"difference {moved(row.figure, row.low, row.high, unit)}")
        if row.q_value is not None:
            parts.append(by_chance(row.q_value))
    elif row.state != "unmeasured" or row.figure is not None:
        if row.estimate in (None, row.measure):
            parts.append(f"{row.measure} {ranged(row.figure, row.low, row.high)}")
        else:
            parts += [f"{row.measure} {number(row.figure)}", f"{row.estimate} {ranged(row.value, row.low, row.high)}"]
    parts += [cut(text, MAX_REASON) for text in (row.reason, row.what_changed) if text]
    if row.state == "waived":
        parts.append(f"accepted until {row.waived_until:%Y-%m-%d %H:%M} UTC: {cut(row.waived_because or '', MAX_TEXT)}")
    return "; ".join(parts)


def lines_of_accepted(result: AcceptResult) -> list[str]:
    """Says what was accepted, until when and why, and lists its rules."""
    rows = "1 failed row" if result.n_rows == 1 else f"{result.n_rows} failed rows"
    known = "" if result.n_new else " (they were already)"
    until = f"accepted until {when(result.valid_until)}{known}"
    return [
        f"run {result.audit_run_id}: {rows} {until}: {cut(result.reason)}",
        *(f"  {cut(rule, MAX_RULE)}" for rule in result.rules),
    ]


def lines_of_ended(result: EndedAlarms) -> list[str]:
    """Says which alarms a person ended, and what is normal from now on."""
    n = len(result.alarms)
    alarms = "1 alarm" if n == 1 else f"{n} alarms"
    normal = "as normal as those before, since the alarm came by chance" if result.is_false else "the new normal"
    return [
        f"run {result.audit_run_id}: {alarms} ended, whose nights are {normal}: {cut(result.reason)}",
        *(f"  {' / '.join(cut(name, MAX_NAME) for name in names)}" for names in result.alarms),
    ]


def lines_of_pin(result: PinResult) -> list[str]:
    """Says which run is a baseline from now on, and which one it replaces."""
    before = "" if result.before is None else f", in place of {result.before}"
    return [f"run {result.audit_run_id} of '{cut(result.audit_id)}' is pinned as '{cut(result.name)}'{before}"]
