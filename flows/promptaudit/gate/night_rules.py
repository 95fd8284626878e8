"""Checks a night, compared with the normal nights before it, against a rule on verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from promptaudit.gate.outcome import RuleResult, RuleRow, State
from promptaudit.gate.source import Group, NightState, Source
from promptaudit.gate.value_rules import NO_ROW, about, selects
from promptaudit.registry.gate_rules import JUDGE, DriftRule, VerdictRule
from promptaudit.registry.mart_columns import OF_PARTS
from promptaudit.system.display.compared import NAMES, Compared, NightFigure, names_of
from promptaudit.system.display.figures import finite, listed, plural
from promptaudit.system.display.movement import IN_BASE, in_words

FULL_RULE = 3
"""Normal nights from which an alarm is raised, as in `promptaudit.udfs.differences.difference`."""
MOST_UNTESTED = 0.1
"""Share of untested figures above which nothing is known of the others either."""
FIRST = "no earlier night asked the same: there is nothing to hold this one against"
UNKNOWN = ("unconfirmed", "not_comparable")
_MOST_NAMED = 5
_COMPARED_ALONE = ("cost_usd", "latency_ms")


def moved_judges(states: Iterable[NightState]) -> set[tuple[str, str]]:
    """Finds the judges that do not rule as on normal nights, each with the task."""
    return {
        (state.model_id, state.task_id)
        for state in states
        if state.model_id.startswith(JUDGE) and (state.has_alarm or state.state == "unconfirmed")
    }


def judge_of(figure: NightFigure) -> tuple[str, str]:
    """Reads the judge in a measure's name, and adds the task."""
    return figure.measure.partition(":")[2], figure.task_id


def untested(figures: Iterable[NightFigure], states: Sequence[NightState]) -> list[NightFigure]:
    """Lists the figures that could not be tested although there were nights enough and no judge ruled otherwise.

    `lost_samples` is left out: it looks at right answers a second time, once samples were asked on two normal nights.
    """
    known, judges = _settled(states), moved_judges(states)
    return [
        each
        for each in figures
        if each.verdict == "not_comparable"
        and each.group in known
        and each.measure != "lost_samples"
        and judge_of(each) not in judges
    ]


def no_longer_tested(
    before: Iterable[NightFigure], tonight: Iterable[NightFigure], states: Sequence[NightState]
) -> list[NightFigure]:
    """Lists the figures that were tested the night before and are not tonight.

    Gold labels and wordings are left out: a label has its own figure on nights with enough of its samples, a wording
    when it breaks.
    """
    known, judges = _settled(states), moved_judges(states)
    tested = {(*each.group, each.measure) for each in tonight if each.verdict not in UNKNOWN}
    return [
        each
        for each in before
        if each.verdict not in UNKNOWN
        and each.group in known
        and (*each.group, each.measure) not in tested
        and each.measure not in _COMPARED_ALONE
        and not each.measure.startswith(tuple(OF_PARTS))
        and judge_of(each) not in judges
    ]


def untested_in_words(figures: Sequence[NightFigure], states: Sequence[NightState]) -> str | None:
    """Says how many figures of a night could not be tested, and which. None where all could."""
    lacking = untested(figures, states)
    if not lacking:
        return None
    return f"{len(lacking)} of {len(figures)} figures could not be tested: {named(each.measure for each in lacking)}"


def named(measures: Iterable[str]) -> str:
    """Lists the first few of some measures, in words."""
    return listed(list(dict.fromkeys(measures)), _MOST_NAMED)


def _settled(states: Collection[NightState]) -> set[Group]:
    # groups with nights enough for the full rule
    return {state.group for state in states if state.n_nights_normal >= FULL_RULE and state.state != "first_night"}


def check_night(rule: VerdictRule | DriftRule, source: Source) -> RuleResult:
    """Checks a night against a rule. It fails while an alarm of the rule's kind stands in any figure that it selects.

    A night of which too little was answered, and one odd night of two or three, is unmeasured; a night whose plan has
    no earlier night passes. A rule that nothing regressed is also unmeasured where more than MOST_UNTESTED of the
    figures could not be tested, or one could not that was tested the night before.
    """
    on_names = about(NAMES, rule)
    states = [each for each in source.night_states if rule.is_of(each.model_id) and selects(on_names, names_of(each))]
    of_rule = [each for each in source.night if rule.is_of(each.model_id) and rule.is_about(each.measure)]
    figures = [each for each in of_rule if selects(on_names, each.row)]
    counted = [each for each in figures if selects(rule.conditions, each.row)]
    ended = source.ended_alarms
    accepted = [each for each in counted if each.verdict in rule.verdicts and each.group in ended]
    counted = [each for each in counted if each not in accepted]
    command = look_closer(figures, source)
    result = partial(RuleResult, rule=str(rule), n_rows=len(figures), look_closer=command)
    if failed := [each for each in counted if each.verdict in rule.verdicts]:
        reason = f"{len(failed)} of {len(figures)} figures {rule.said_of(len(failed))}, {_against(failed)}"
        return result(outcome="failed", reason=reason, rows=tuple(map(failed_row, failed)))
    reason, unknown = _unknown(rule, figures, counted, states, source)
    if unknown:
        return result(outcome="unmeasured", reason=reason, rows=unknown)
    first = [state for state in states if state.state == "first_night"]
    if states and len(first) == len(states):
        return result(outcome="first_night", reason=FIRST, look_closer=())
    judged = [each for each in figures if each.verdict not in UNKNOWN and each not in accepted]
    few = [state.n_nights_normal for state in states if state.n_nights_normal < FULL_RULE]
    judges = moved_judges(source.night_states)
    if not judged and not accepted and not few:
        moved = "what it is of is not held against normal nights, since its judge rules otherwise"
        is_moved = any(judge_of(each) in judges for each in figures)
        return result(outcome="unmeasured", reason=moved if is_moved else f"{NO_ROW}, against normal nights")
    notes = [f"none of {len(judged)} figures {rule.said_of(1)}, {_against(judged)}"]
    if few:
        notes.append(f"{plural(min(few), 'night')} to compare with")
    if n_moved := sum(judge_of(each) in judges for each in counted):
        notes.append(f"{n_moved} not held against them, since their judge rules otherwise")
    if suspects := sum(each.verdict == "suspect" for each in counted):
        notes.append(f"{suspects} not yet beyond chance")
    if accepted:
        notes.append(f"{len(accepted)} accepted: {ended[accepted[0].group]}")
    if first:
        notes.append(f"{len(first)} of {len(states)} groups are new and have nothing to be held against")
    return result(outcome="passed", reason="; ".join(notes))


def _unknown(
    rule: VerdictRule | DriftRule,
    figures: Sequence[NightFigure],
    counted: Sequence[NightFigure],
    states: Sequence[NightState],
    source: Source,
) -> tuple[str, tuple[RuleRow, ...]]:
    # the rows that keep the rule from being decided, with the reason
    unknown = [_unknown_row(state, rule) for state in states if state.state == "cannot_tell"]
    unknown += [failed_row(each, "unmeasured") for each in counted if each.verdict == "unconfirmed"]
    if unknown or "regressed" not in rule.verdicts:
        return f"of {len(unknown)} of {len(figures) or len(states)} figures it cannot be told yet", tuple(unknown)
    groups = {state.group for state in states}
    gone = [
        each
        for each in no_longer_tested(source.night_before, figures, source.night_states)
        if each.group in groups and rule.is_about(each.measure)
    ]
    if gone:
        rows = [_unmeasured(each.measure, each, "it was tested the night before") for each in gone]
        return f"{named(each.measure for each in gone)}: tested the night before, and could not be tonight", tuple(rows)
    lacking = untested(counted, source.night_states)
    is_much = len(lacking) > MOST_UNTESTED * len(counted)
    rows = [failed_row(each, "unmeasured") for each in lacking] if is_much else []
    return untested_in_words(counted, source.night_states) or "", tuple(rows)


def failed_row(figure: Compared, state: State = "failed") -> RuleRow:
    """Makes the row of a figure that does not pass."""
    then = IN_BASE if figure.cause in ("other_model", "other_strategy") else "before"
    return RuleRow(
        state=state,
        measure=figure.measure,
        **names_of(figure),
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


def _unmeasured(measure: str, of: object, reason: str) -> RuleRow:
    return RuleRow(state="unmeasured", measure=measure, **names_of(of), reason=reason)


def _unknown_row(state: NightState, rule: VerdictRule | DriftRule) -> RuleRow:
    reason = f"{state.n_samples_counted} of {state.n_samples} samples were answered"
    if state.n_samples_counted >= 0.8 * state.n_samples:
        reason = f"{state.n_samples_shared} of {state.n_samples_counted} samples were asked on normal nights"
        if 2 * state.n_samples_shared >= state.n_samples_counted:
            reason = "fewer than ten samples, or clusters of samples, can be held against normal nights"
    return _unmeasured(rule.measure or "every measure", state, reason)


def _against(figures: Sequence[NightFigure]) -> str:
    if figures and all(each.is_pinned for each in figures):
        return "against the pinned night"
    numbers = [each.n_nights_normal for each in figures if each.n_nights_normal]
    if not numbers:
        return "against normal nights"
    low, high = min(numbers), max(numbers)
    return f"against {f'{low} to ' if low < high else ''}{plural(high, 'normal night')}"


def look_closer(figures: Sequence[NightFigure], source: Source) -> tuple[str, ...]:
    """Writes the command that compares with the newest normal night of most figures, failing figures first."""
    in_alarms = [each for each in figures if each.since_run_id is not None] or figures
    (base, _), *_ = Counter(each.normal_run_id for each in in_alarms).most_common(1) or [(None, 0)]
    return () if base is None else (f"promptaudit compare {base} {source.audit_run_id}",)
