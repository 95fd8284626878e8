"""Checks a run's comparison with another against a rule on verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from promptaudit.gate.inside import command_of, pairs_inside
from promptaudit.gate.night_rules import check_night, failed_row
from promptaudit.gate.outcome import RuleResult, RuleRow, State
from promptaudit.gate.source import Group, Source
from promptaudit.gate.untested import FULL_RULE
from promptaudit.gate.value_rules import NAMES, NO_ROW, selects
from promptaudit.registry.gate_columns import COUNTED
from promptaudit.registry.gate_rules import JUDGE, LAST_NIGHT, SameRule, VerdictRule
from promptaudit.registry.mart_columns import compared_column
from promptaudit.system.display.compared import RunsCompared
from promptaudit.system.display.figures import count

SPREAD = "accuracy_std"
NOT_JUDGED = ("not_comparable", "not_judged")


def check_verdicts(rule: VerdictRule | SameRule, source: Source) -> RuleResult:
    """Checks a night, or the comparison with a run that a rule names: no row that the rule selects may break it.

    A rule on verdicts about the pinned night that tonight is compared with is about the night itself. On the first
    night there is no row that could break any rule.
    """
    base = source.base_of(rule.reference)
    pinned = {each.group for each in source.night if each.is_pinned and each.normal_run_id == base}
    models = [state.group for state in source.night_states if not state.model_id.startswith(JUDGE)]
    is_of_night = rule.reference == LAST_NIGHT or bool(pinned and pinned.issuperset(models))
    if isinstance(rule, VerdictRule) and is_of_night and source.night_states:
        return check_night(rule, source)
    audit, run = source.run.audit_id, source.audit_run_id
    if base is None and source.is_first:
        reason = f"no run of '{audit}' before this one is complete: there is nothing to compare it with"
        return RuleResult(rule=str(rule), outcome="first_night", reason=reason)
    if base is None:  # only a baseline can be missing now
        command = f"promptaudit pin RUN {shlex.quote(rule.reference)}"
        return RuleResult(
            rule=str(rule),
            outcome="unmeasured",
            reason=f"no run of '{audit}' is pinned as '{rule.reference}'",
            look_closer=(command,),
        )
    if base == run:
        return RuleResult(
            rule=str(rule), outcome="passed", reason=f"this run is what '{rule.reference}' names", base_run_id=base
        )
    command = f"promptaudit compare {shlex.quote(base)} {shlex.quote(run)}"
    comparison = source.comparison(base)
    if not comparison:
        reason = f"run {base} and this one are not compared yet"
        return RuleResult(rule=str(rule), outcome="unmeasured", reason=reason, base_run_id=base, look_closer=(command,))
    against = f"against {'last night' if rule.reference == LAST_NIGHT else repr(rule.reference)} ({base})"
    result = check_comparison(rule, comparison, against, source.groups(), set(source.groups(base)))
    return replace(result, base_run_id=base, look_closer=() if result.outcome == "passed" else (command,))


def check_inside(rule: VerdictRule | SameRule, source: Source) -> RuleResult:
    """Checks a rule on the other models or strategies of a run, compared with the one that it names."""
    run, groups = source.audit_run_id, source.groups()
    pairs = pairs_inside(rule, groups)
    compared = {pair: source.comparison(run, pair) for pair in pairs}
    lacking = [pair for pair in pairs if not compared[pair]]
    if lacking or not pairs:
        reason = f"{len(lacking)} of {len(pairs)} pairs are not compared yet"
        if not pairs:
            reason = f"this run has not {rule.reference} and another to hold against it"
        commands = tuple(command_of(run, pair) for pair in lacking)
        return RuleResult(rule=str(rule), outcome="unmeasured", reason=reason, look_closer=commands)
    figures = [figure for pair in pairs for figure in compared[pair]]
    asked = {group for group in groups if any(pair.is_candidate(group) for pair in pairs)}
    known = {
        group for group in asked if any(pair.is_candidate(group) and pair.base_of(group) in groups for pair in pairs)
    }
    result = check_comparison(rule, figures, f"against {rule.reference}", asked, known)
    commands = tuple(command_of(run, pair) for pair in pairs)
    return replace(result, base_run_id=run, look_closer=() if result.outcome == "passed" else commands)


def _state_of(rule: VerdictRule | SameRule, figure: RunsCompared) -> State | None:
    if isinstance(rule, VerdictRule):
        if figure.verdict == rule.verdict:
            return "failed"
        return "unmeasured" if figure.verdict == "unconfirmed" else None
    low, high = figure.difference_low, figure.difference_high
    if figure.verdict in NOT_JUDGED or not _are_nights_known(figure) or low is None or high is None:
        return "unmeasured"
    limit, is_above, is_below = _limit(rule, figure), True, True
    if rule.is_one_sided or figure.measure == COUNTED:
        column = compared_column(figure.measure)
        is_above = figure.measure == COUNTED or (column is not None and column.direction == "lower")
        is_above |= figure.measure.startswith(SPREAD)
        is_below = not is_above
    if (is_above and low >= limit) or (is_below and high <= -limit):
        return "failed"
    return "unmeasured" if (is_above and high >= limit) or (is_below and low <= -limit) else None


def _are_nights_known(figure: RunsCompared) -> bool:
    # how far two nights lie apart must be known; two parts of one run have no nights between them
    return figure.base_run_id == figure.row["candidate_run_id"] or (figure.n_alike_nights or 0) >= FULL_RULE


def _is_expected(figure: RunsCompared) -> bool:
    # two models or strategies have no cells and no spread to compare
    are_two = (figure.base_model_id or figure.model_id, figure.base_strategy or figure.strategy) != (
        figure.model_id,
        figure.strategy,
    )
    return not are_two or not (figure.measure == COUNTED or figure.measure.startswith(SPREAD))


def _limit(rule: SameRule, figure: RunsCompared) -> float:
    return figure.min_effect if rule.limit is None else rule.limit


def check_comparison(
    rule: VerdictRule | SameRule,
    comparison: Sequence[RunsCompared],
    against: str,
    asked: Iterable[Group],
    known: Collection[Group],
) -> RuleResult:
    """Checks the rows of a comparison against a rule.

    Conditions on names choose the rows; conditions on figures and causes choose which of their verdicts count.

    Args:
        rule: what none of the rows may be.
        comparison: the rows.
        against: the base in words: `against 'release-4' (3f2a)`.
        asked: models, tasks and strategies of the candidate.
        known: models, tasks and strategies of the base. What only the candidate has is new, and passes.
    """
    named = [condition for condition in rule.conditions if condition.column in NAMES]
    figures = [
        figure
        for figure in comparison
        if rule.is_about(figure.measure)
        and (rule.measure is not None or _is_expected(figure))
        and all(selects(each, figure.row) for each in named)
    ]
    failed = tuple(
        failed_row(figure)
        for figure in figures
        if _state_of(rule, figure) == "failed" and all(selects(each, figure.row) for each in rule.conditions)
    )
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        broken = rule.verdict if isinstance(rule, VerdictRule) else "worse" if rule.is_one_sided else "not the same"
        reason = f"{len(failed)} of {len(figures)} comparisons {verb} {broken}, {against}"
        return RuleResult(rule=str(rule), outcome="failed", reason=reason, n_rows=len(figures), rows=failed)
    groups = {group for group in asked if all(selects(each, dict(zip(NAMES, group, strict=True))) for each in named)}
    new = groups.difference(known)
    silent = _silent(rule, groups - new, figures, comparison)
    n_judged = sum(figure.verdict not in NOT_JUDGED for figure in figures)
    open_rows = tuple(_open_row(rule, each) for each in figures if _state_of(rule, each) == "unmeasured")
    if silent or open_rows or not n_judged:
        reason = f"{len(silent)} of {len(groups)} groups cannot be compared" if silent else NO_ROW
        if open_rows:
            reason = f"of {len(open_rows)} of {len(figures)} comparisons it cannot be told yet"
        return RuleResult(
            rule=str(rule),
            outcome="unmeasured",
            reason=f"{reason}, {against}",
            n_rows=len(figures),
            rows=(*open_rows, *silent),
        )
    notes = [
        f"none of {n_judged} comparisons is {rule.verdict}, {against}"
        if isinstance(rule, VerdictRule)
        else f"all {n_judged} comparisons keep to the bound, {against}"
    ]
    if len(figures) > n_judged:
        notes.append(f"{len(figures) - n_judged} more could not be compared or judged")
    if new:
        notes.append(f"{len(new)} of {len(groups)} groups are new and have nothing to be compared with")
    return RuleResult(rule=str(rule), outcome="passed", reason="; ".join(notes), n_rows=len(figures))


def _open_row(rule: VerdictRule | SameRule, figure: RunsCompared) -> RuleRow:
    row = failed_row(figure, "unmeasured")
    n = figure.row["n_samples_for_same"]
    is_of_card = isinstance(rule, SameRule) and _limit(rule, figure) == figure.min_effect
    is_wide = is_of_card and abs(figure.difference or 0.0) < figure.min_effect and (n or 0) > (figure.n_samples or 0)
    if not is_wide or figure.verdict in NOT_JUDGED or not _are_nights_known(figure):
        return row
    return replace(row, reason=f"the interval is too wide: about {count(n)} samples would do, did nothing change")


def _silent(
    rule: VerdictRule | SameRule,
    groups: Iterable[Group],
    figures: Sequence[RunsCompared],
    comparison: Sequence[RunsCompared],
) -> tuple[RuleRow, ...]:
    # a group that was compared in other measures than the rule's is not silent: not every task has every measure
    silent = []
    compared = {figure.group for figure in comparison}
    for group in sorted(groups):
        own = [figure for figure in figures if figure.group == group]
        if any(figure.verdict not in NOT_JUDGED for figure in own) or (not own and group in compared):
            continue
        reasons = dict.fromkeys(figure.reason for figure in own if figure.reason)
        reason = "; ".join(list(reasons)[:3]) or "not in the comparison"
        model_id, task_id, strategy = group
        silent.append(
            RuleRow(
                state="unmeasured",
                measure=rule.measure or "every measure",
                model_id=model_id,
                task_id=task_id,
                strategy=strategy,
                reason=reason,
            )
        )
    return tuple(silent)
