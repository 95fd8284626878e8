"""Holds what is told of a night, against the normal nights before it, against a rule on verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from promptaudit.flows.display.movement import in_words
from promptaudit.flows.gate.outcome import Outcome, RuleResult, RuleRow, State
from promptaudit.flows.gate.source import Source
from promptaudit.flows.gate.value_rules import NAMES, NO_ROW, finite, selects
from promptaudit.flows.warehouse import Row
from promptaudit.models_registry.gate_rules import JUDGE, DriftRule, VerdictRule

FULL_RULE = 3
"""Normal nights from which an alarm is raised, as `promptaudit.udfs.nights.window_test` has it."""
UNKNOWN = ("unconfirmed", "not_comparable")


def check_night(rule: VerdictRule | DriftRule, source: Source) -> RuleResult:
    """Holds a night against a rule: it fails while an alarm of its kind stands in any figure that it selects.

    A night of which too little was answered, and one odd night of two or three, is unmeasured; one without a night of its plan
    before passes.
    """
    named = [condition for condition in rule.conditions if condition.column in NAMES]
    states = [row for row in source.mart("rpt_night_states") if rule.is_of(row["model_id"])]
    states = [row for row in states if all(selects(each, row) for each in named)]
    told = [row for row in source.night if rule.is_of(row["model_id"])]
    rows = [row for row in told if rule.is_about(row["measure"]) and all(selects(each, row) for each in named)]
    counted = [row for row in rows if all(selects(each, row) for each in rule.conditions)]
    ended = {_group(alarm): alarm["reason"] for alarm in source.ended_alarms}
    accepted = [row for row in counted if row["verdict"] in rule.verdicts and _group(row) in ended]
    counted = [row for row in counted if row not in accepted]
    command = look_closer(rows, source)
    if failed := [row for row in counted if row["verdict"] in rule.verdicts]:
        reason = f"{len(failed)} of {len(rows)} figures {rule.said_of(len(failed))}, {_against(failed)}"
        return _outcome(rule, "failed", reason, rows, [failed_row(row) for row in failed], command)
    unknown = [_unknown_row(row, rule) for row in states if row["state"] == "cannot_tell"]
    unknown += [failed_row(row, "unmeasured") for row in counted if row["verdict"] == "unconfirmed"]
    if unknown:
        reason = f"of {len(unknown)} of {len(rows) or len(states)} figures it cannot be told yet"
        return _outcome(rule, "unmeasured", reason, rows, unknown, command)
    first = [row for row in states if row["state"] == "first_night"]
    if states and len(first) == len(states):
        reason = "no earlier night asked the same: there is nothing to hold this one against"
        return _outcome(rule, "first_night", reason, rows, [], command)
    judged = [row for row in rows if row["verdict"] not in UNKNOWN and row not in accepted]
    few = [row["n_nights_normal"] for row in states if row["n_nights_normal"] < FULL_RULE]
    judges = _moved_judges(source)
    if not judged and not accepted and not few:
        return _outcome(rule, "unmeasured", _why_nothing(rows, judges), rows, [], command)
    notes = [f"none of {len(judged)} figures {rule.said_of(1)}, {_against(judged)}"]
    if few:
        notes.append(f"{'1 night' if min(few) == 1 else f'{min(few)} nights'} to compare with")
    if moved := sum((row["measure"].partition(":")[2], row["task_id"]) in judges for row in counted):
        notes.append(f"{moved} not held against them, since their judge rules otherwise")
    if suspects := sum(row["verdict"] == "suspect" for row in counted):
        notes.append(f"{suspects} not yet beyond chance")
    if accepted:
        notes.append(f"{len(accepted)} accepted: {ended[_group(accepted[0])]}")
    if first:
        notes.append(f"{len(first)} of {len(states)} groups are new and have nothing to be held against")
    return _outcome(rule, "passed", "; ".join(notes), rows, [], command)


def _why_nothing(rows: Sequence[Row], judges: set[tuple[str, str]]) -> str:
    """Returns why no figure was held against normal nights."""
    if any((row["measure"].partition(":")[2], row["task_id"]) in judges for row in rows):
        return "what it is of is not held against normal nights, since its judge rules otherwise"
    return f"{NO_ROW}, against normal nights"


def _moved_judges(source: Source) -> set[tuple[str, str]]:
    """Returns the judges that do not rule as on normal nights, each with the task."""
    return {
        (row["model_id"], row["task_id"])
        for row in source.mart("rpt_night_states")
        if row["model_id"].startswith(JUDGE) and (row["memory"]["since"] is not None or row["state"] == "unconfirmed")
    }


def failed_row(row: Row, state: State = "failed") -> RuleRow:
    """Returns a row of rpt_night_verdicts or rpt_run_comparisons as one that does not pass."""
    return RuleRow(
        state=state,
        measure=row["measure"],
        **{name: row[name] for name in NAMES},
        figure=finite(row["difference"]),
        low=finite(row["difference_low"]),
        high=finite(row["difference_high"]),
        base=finite(row["base"]),
        candidate=finite(row["candidate"]),
        q_value=finite(row["q_value"]),
        cause=row["cause"],
        reason=row["reason"],
        moved=in_words(row),
        what_changed=row.get("what_changed"),
    )


def _group(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in NAMES)


def _unknown_row(state: Row, rule: VerdictRule | DriftRule) -> RuleRow:
    reason = f"{state['n_samples_counted']} of {state['n_samples']} samples were answered"
    if state["n_samples_counted"] >= 0.8 * state["n_samples"]:
        reason = f"{state['n_samples_shared']} of {state['n_samples_counted']} samples were asked on normal nights"
        if 2 * state["n_samples_shared"] >= state["n_samples_counted"]:
            reason = "fewer than ten samples, or clusters of samples, can be held against normal nights"
    return RuleRow(
        state="unmeasured",
        measure=rule.measure or "every measure",
        **{name: state[name] for name in NAMES},
        reason=reason,
    )


def _against(rows: Sequence[Row]) -> str:
    """Returns what figures are held against, in words: `against 3 to 17 normal nights`."""
    if rows and all(row.get("is_pinned") for row in rows):
        return "against the pinned night"
    numbers = [row["n_nights_normal"] for row in rows if row["n_nights_normal"]]
    if not numbers:
        return "against normal nights"
    low, high = min(numbers), max(numbers)
    if low == high:
        return f"against {low} normal night{'' if low == 1 else 's'}"
    return f"against {low} to {high} normal nights"


def look_closer(rows: Sequence[Row], source: Source) -> tuple[str, ...]:
    """Returns what looks closer: the comparison with the newest normal night of most figures, of those that fail first."""
    told = [row for row in rows if row["since_run_id"] is not None] or rows
    (base, _), *_ = Counter(row["normal_run_id"] for row in told).most_common(1) or [(None, 0)]
    return () if base is None else (f"promptaudit compare {base} {source.audit_run_id}",)


def _outcome(
    rule: VerdictRule | DriftRule,
    outcome: Outcome,
    reason: str,
    rows: Sequence[Row],
    told: Sequence[RuleRow],
    command: tuple[str, ...],
) -> RuleResult:
    return RuleResult(
        rule=str(rule),
        outcome=outcome,
        reason=reason,
        n_rows=len(rows),
        rows=tuple(told),
        look_closer=() if outcome == "first_night" else command,
    )
