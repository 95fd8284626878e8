"""Checks a run's comparison with another, or of its own models or strategies, against a rule on verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from promptaudit.gate.night_rules import FULL_RULE, check_night, failed_row
from promptaudit.gate.outcome import Outcome, RuleResult, RuleRow, State
from promptaudit.gate.source import Group, Parts, Source
from promptaudit.gate.value_rules import NO_ROW, about, selects
from promptaudit.registry.errors import UsageError
from promptaudit.registry.gate_columns import COUNTED
from promptaudit.registry.gate_rules import INSIDE, JUDGE, LAST_NIGHT, Rule, SameRule, VerdictRule, part_of
from promptaudit.registry.gates import RuleError, parse_rule
from promptaudit.registry.mart_columns import compared_column
from promptaudit.system.display.compared import NAMES, RunsCompared
from promptaudit.system.display.figures import count, cut

if TYPE_CHECKING:
    from promptaudit.marts.comparison.result import RunComparison

SPREAD = "accuracy_std"
NOT_JUDGED = ("not_comparable", "not_judged")
EXIT_CODES: Mapping[Outcome, int] = {"passed": 0, "failed": 1, "unmeasured": 3}
EVERY = "all"


def pairs_inside(rule: Rule, groups: Sequence[Group]) -> list[Parts]:
    """Lists what a rule compares with the part of the run that it names, which comes first in each pair.

    `groups` is what the run asked. Empty for a rule about another run, and where the run has no such part or no other.
    """
    if not isinstance(rule, VerdictRule | SameRule) or not rule.reference.startswith(INSIDE):
        return []
    model, strategy = part_of(rule.reference.removeprefix(INSIDE), {group[0] for group in groups})
    parts = {(None if model is None else group[0], None if strategy is None else group[2]) for group in groups}
    if (model, strategy) not in parts:
        return []
    wanted = {
        (None if model is None else group[0], None if strategy is None else group[2])
        for group in groups
        if selects(about(NAMES, rule), dict(zip(NAMES, group, strict=True)))
    }
    return [Parts(model, strategy, *part) for part in sorted(wanted - {(model, strategy)})]


def command_of(run: str, parts: Parts) -> str:
    """Writes the command that compares two parts of a run."""
    base = _name(run, parts.base_model_id, parts.base_strategy)
    return f"promptaudit compare {base} {_name(run, parts.candidate_model_id, parts.candidate_strategy)}"


def _name(run: str, model: str | None, strategy: str | None) -> str:
    return shlex.quote(f"{run}:{model or ''}{'' if strategy is None else f':{strategy}'}")


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
    result = partial(RuleResult, rule=str(rule), base_run_id=base)
    if base is None and source.is_first:
        reason = f"no run of '{audit}' before this one is complete: there is nothing to compare it with"
        return result(outcome="first_night", reason=reason)
    if base is None:  # only a baseline can be missing now
        command = f"promptaudit pin RUN {shlex.quote(rule.reference)}"
        reason = f"no run of '{audit}' is pinned as '{rule.reference}'"
        return result(outcome="unmeasured", reason=reason, look_closer=(command,))
    if base == run:
        return result(outcome="passed", reason=f"this run is what '{rule.reference}' names")
    command = f"promptaudit compare {shlex.quote(base)} {shlex.quote(run)}"
    comparison = source.comparison(base)
    if not comparison:
        reason = f"run {base} and this one are not compared yet"
        return result(outcome="unmeasured", reason=reason, look_closer=(command,))
    against = f"against {'last night' if rule.reference == LAST_NIGHT else repr(rule.reference)} ({base})"
    checked = check_comparison(rule, comparison, against, source.groups(), set(source.groups(base)))
    return replace(checked, base_run_id=base, look_closer=() if checked.outcome == "passed" else (command,))


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
    difference = figure.difference or 0.0
    is_worse = rule.is_one_sided and figure.verdict == "regressed" and abs(difference) >= limit
    if is_worse or (is_above and low >= limit) or (is_below and high <= -limit):
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
    named = about(NAMES, rule)
    figures = [
        figure
        for figure in comparison
        if rule.is_about(figure.measure)
        and (rule.measure is not None or _is_expected(figure))
        and selects(named, figure.row)
    ]
    result = partial(RuleResult, rule=str(rule), n_rows=len(figures))
    failed = tuple(
        failed_row(figure)
        for figure in figures
        if _state_of(rule, figure) == "failed" and selects(rule.conditions, figure.row)
    )
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        broken = rule.verdict if isinstance(rule, VerdictRule) else "worse" if rule.is_one_sided else "not the same"
        reason = f"{len(failed)} of {len(figures)} comparisons {verb} {broken}, {against}"
        return result(outcome="failed", reason=reason, rows=failed)
    groups = {group for group in asked if selects(named, dict(zip(NAMES, group, strict=True)))}
    new = groups.difference(known)
    silent = _silent(rule, groups - new, figures, comparison)
    n_judged = sum(figure.verdict not in NOT_JUDGED for figure in figures)
    open_rows = tuple(_open_row(rule, each) for each in figures if _state_of(rule, each) == "unmeasured")
    if silent or open_rows or not n_judged:
        reason = f"{len(silent)} of {len(groups)} groups cannot be compared" if silent else NO_ROW
        if open_rows:
            reason = f"of {len(open_rows)} of {len(figures)} comparisons it cannot be told yet"
        return result(outcome="unmeasured", reason=f"{reason}, {against}", rows=(*open_rows, *silent))
    notes = [
        f"none of {n_judged} comparisons is {rule.verdict}, {against}"
        if isinstance(rule, VerdictRule)
        else f"all {n_judged} comparisons keep to the bound, {against}"
    ]
    if len(figures) > n_judged:
        notes.append(f"{len(figures) - n_judged} more could not be compared or judged")
    if new:
        notes.append(f"{len(new)} of {len(groups)} groups are new and have nothing to be compared with")
    return result(outcome="passed", reason="; ".join(notes))


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
        lacking = partial(RuleRow, state="unmeasured", measure=rule.measure or "every measure", reason=reason)
        silent.append(lacking(model_id=group[0], task_id=group[1], strategy=group[2]))
    return tuple(silent)


def parse_approval(measure: str) -> SameRule:
    """Parses the rule `no worse on MEASURE than base`, or on every measure for `all`. Raises UsageError."""
    on = "" if measure == EVERY else f' on "{measure}"'
    try:
        rule = parse_rule(f"no worse{on} than base")
    except RuleError as error:
        msg = f"--no-worse {measure[:80]}: {str(error).partition(': ')[2]}"
        raise UsageError(msg) from None
    return cast("SameRule", rule)


def approve(rule: SameRule, comparison: RunComparison, base: str) -> RuleResult:
    """Checks every figure of a comparison against the rule. `base` is the name of the base."""
    figures = comparison.figures
    groups = {figure.group for figure in figures}
    return check_comparison(rule, figures, f"against {cut(base)}", groups, groups)
