"""Checks a night, compared with the normal nights before it, against a rule on verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from promptaudit.gate.outcome import Outcome, RuleResult, RuleRow, State
from promptaudit.gate.source import NightState, Source
from promptaudit.gate.untested import (
    FULL_RULE,
    MOST_UNTESTED,
    UNKNOWN,
    judge_of,
    moved_judges,
    named,
    no_longer_tested,
    untested,
    untested_in_words,
)
from promptaudit.gate.value_rules import NAMES, NO_ROW, finite, selects
from promptaudit.registry.gate_rules import DriftRule, VerdictRule
from promptaudit.system.display.compared import Compared, NightFigure
from promptaudit.system.display.movement import IN_BASE, in_words


def check_night(rule: VerdictRule | DriftRule, source: Source) -> RuleResult:
    """Checks a night against a rule. It fails while an alarm of the rule's kind stands in any figure that it selects.

    A night of which too little was answered, and one odd night of two or three, is unmeasured; a night whose plan has
    no earlier night passes. A rule that nothing regressed is also unmeasured where more than MOST_UNTESTED of the
    figures could not be tested, or one could not that was tested the night before.
    """
    on_names = [condition for condition in rule.conditions if condition.column in NAMES]
    states = [state for state in source.night_states if rule.is_of(state.model_id)]
    states = [state for state in states if all(selects(each, state._asdict()) for each in on_names)]
    of_rule = [each for each in source.night if rule.is_of(each.model_id) and rule.is_about(each.measure)]
    figures = [each for each in of_rule if all(selects(on, each.row) for on in on_names)]
    counted = [each for each in figures if all(selects(on, each.row) for on in rule.conditions)]
    ended = source.ended_alarms
    accepted = [each for each in counted if each.verdict in rule.verdicts and each.group in ended]
    counted = [each for each in counted if each not in accepted]
    command = look_closer(figures, source)
    if failed := [each for each in counted if each.verdict in rule.verdicts]:
        reason = f"{len(failed)} of {len(figures)} figures {rule.said_of(len(failed))}, {_against(failed)}"
        return _outcome(rule, "failed", reason, figures, [failed_row(each) for each in failed], command)
    reason, unknown = _unknown(rule, figures, counted, states, source)
    if unknown:
        return _outcome(rule, "unmeasured", reason, figures, unknown, command)
    first = [state for state in states if state.state == "first_night"]
    if states and len(first) == len(states):
        reason = "no earlier night asked the same: there is nothing to hold this one against"
        return _outcome(rule, "first_night", reason, figures, [], command)
    judged = [each for each in figures if each.verdict not in UNKNOWN and each not in accepted]
    few = [state.n_nights_normal for state in states if state.n_nights_normal < FULL_RULE]
    judges = moved_judges(source.night_states)
    if not judged and not accepted and not few:
        return _outcome(rule, "unmeasured", _why_nothing(figures, judges), figures, [], command)
    notes = [f"none of {len(judged)} figures {rule.said_of(1)}, {_against(judged)}"]
    if few:
        notes.append(f"{'1 night' if min(few) == 1 else f'{min(few)} nights'} to compare with")
    if moved := sum(judge_of(each) in judges for each in counted):
        notes.append(f"{moved} not held against them, since their judge rules otherwise")
    if suspects := sum(each.verdict == "suspect" for each in counted):
        notes.append(f"{suspects} not yet beyond chance")
    if accepted:
        notes.append(f"{len(accepted)} accepted: {ended[accepted[0].group]}")
    if first:
        notes.append(f"{len(first)} of {len(states)} groups are new and have nothing to be held against")
    return _outcome(rule, "passed", "; ".join(notes), figures, [], command)


def _unknown(
    rule: VerdictRule | DriftRule,
    figures: Sequence[NightFigure],
    counted: Sequence[NightFigure],
    states: Sequence[NightState],
    source: Source,
) -> tuple[str, list[RuleRow]]:
    # the rows that keep the rule from being decided, with the reason
    unknown = [_unknown_row(state, rule) for state in states if state.state == "cannot_tell"]
    unknown += [failed_row(each, "unmeasured") for each in counted if each.verdict == "unconfirmed"]
    if unknown or "regressed" not in rule.verdicts:
        return f"of {len(unknown)} of {len(figures) or len(states)} figures it cannot be told yet", unknown
    groups = {state.group for state in states}
    gone = [
        each
        for each in no_longer_tested(source.night_before, figures, source.night_states)
        if each.group in groups and rule.is_about(each.measure)
    ]
    if gone:
        names = named(each.measure for each in gone)
        return f"{names}: tested the night before, and could not be tonight", [_gone_row(each) for each in gone]
    lacking = untested(counted, source.night_states)
    is_much = len(lacking) > MOST_UNTESTED * len(counted)
    rows = [failed_row(each, "unmeasured") for each in lacking] if is_much else []
    return untested_in_words(counted, source.night_states) or "", rows


def _why_nothing(figures: Sequence[NightFigure], judges: set[tuple[str, str]]) -> str:
    if any(judge_of(each) in judges for each in figures):
        return "what it is of is not held against normal nights, since its judge rules otherwise"
    return f"{NO_ROW}, against normal nights"


def failed_row(figure: Compared, state: State = "failed") -> RuleRow:
    """Makes the row of a figure that does not pass."""
    then = IN_BASE if figure.cause in ("other_model", "other_strategy") else "before"
    return RuleRow(
        state=state,
        measure=figure.measure,
        model_id=figure.model_id,
        task_id=figure.task_id,
        strategy=figure.strategy,
        figure=finite(figure.difference),
        low=finite(figure.difference_low),
        high=finite(figure.difference_high),
        base=finite(figure.base),
        candidate=finite(figure.candidate),
        q_value=finite(figure.q_value),
        cause=figure.cause,
        reason=figure.reason,
        moved=in_words(figure, then),
        what_changed=figure.what_changed,
    )


def _gone_row(figure: NightFigure) -> RuleRow:
    return RuleRow(
        state="unmeasured",
        measure=figure.measure,
        model_id=figure.model_id,
        task_id=figure.task_id,
        strategy=figure.strategy,
        reason="it was tested the night before",
    )


def _unknown_row(state: NightState, rule: VerdictRule | DriftRule) -> RuleRow:
    reason = f"{state.n_samples_counted} of {state.n_samples} samples were answered"
    if state.n_samples_counted >= 0.8 * state.n_samples:
        reason = f"{state.n_samples_shared} of {state.n_samples_counted} samples were asked on normal nights"
        if 2 * state.n_samples_shared >= state.n_samples_counted:
            reason = "fewer than ten samples, or clusters of samples, can be held against normal nights"
    return RuleRow(
        state="unmeasured",
        measure=rule.measure or "every measure",
        model_id=state.model_id,
        task_id=state.task_id,
        strategy=state.strategy,
        reason=reason,
    )


def _against(figures: Sequence[NightFigure]) -> str:
    if figures and all(each.is_pinned for each in figures):
        return "against the pinned night"
    numbers = [each.n_nights_normal for each in figures if each.n_nights_normal]
    if not numbers:
        return "against normal nights"
    low, high = min(numbers), max(numbers)
    if low == high:
        return f"against {low} normal night{'' if low == 1 else 's'}"
    return f"against {low} to {high} normal nights"


def look_closer(figures: Sequence[NightFigure], source: Source) -> tuple[str, ...]:
    """Writes the command that compares with the newest normal night of most figures, failing figures first."""
    in_alarms = [each for each in figures if each.since_run_id is not None] or figures
    (base, _), *_ = Counter(each.normal_run_id for each in in_alarms).most_common(1) or [(None, 0)]
    return () if base is None else (f"promptaudit compare {base} {source.audit_run_id}",)


def _outcome(
    rule: VerdictRule | DriftRule,
    outcome: Outcome,
    reason: str,
    figures: Sequence[NightFigure],
    rows: Sequence[RuleRow],
    command: tuple[str, ...],
) -> RuleResult:
    return RuleResult(
        rule=str(rule),
        outcome=outcome,
        reason=reason,
        n_rows=len(figures),
        rows=tuple(rows),
        look_closer=() if outcome == "first_night" else command,
    )
