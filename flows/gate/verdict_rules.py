"""Holds a run's comparison with another against a rule on verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from promptaudit.flows.gate.night_rules import check_night, failed_row
from promptaudit.flows.gate.outcome import RuleResult, RuleRow
from promptaudit.flows.gate.source import Source
from promptaudit.flows.gate.value_rules import NAMES, NO_ROW, selects
from promptaudit.flows.warehouse import Row
from promptaudit.models_registry.gate_rules import LAST_NIGHT, VerdictRule

Names = tuple[str, str, str]
NOT_JUDGED = ("not_comparable", "not_judged")


def check_verdicts(rule: VerdictRule, source: Source) -> RuleResult:
    """Holds a night, or the comparison with a run that a rule names, against it: no row that it selects may have its verdict.

    On the first night there is no row to have it.
    """
    if rule.reference == LAST_NIGHT and source.mart("rpt_night_states"):
        return check_night(rule, source)
    base = source.base_of(rule.reference)
    audit, run = source.run["audit_id"], source.audit_run_id
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
    return _result(rule, source, base, comparison, command)


def _result(rule: VerdictRule, source: Source, base: str, comparison: list[Row], command: str) -> RuleResult:
    """Conditions on names say what is looked at; those on figures and causes say which of its verdicts count."""
    named = [condition for condition in rule.conditions if condition.column in NAMES]
    rows = [row for row in comparison if rule.is_about(row["measure"]) and all(selects(each, row) for each in named)]
    failed = tuple(
        failed_row(row)
        for row in rows
        if row["verdict"] == rule.verdict and all(selects(each, row) for each in rule.conditions)
    )
    against = f"against {'last night' if rule.reference == LAST_NIGHT else repr(rule.reference)} ({base})"
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        reason = f"{len(failed)} of {len(rows)} comparisons {verb} {rule.verdict}, {against}"
        return RuleResult(
            rule=str(rule),
            outcome="failed",
            reason=reason,
            n_rows=len(rows),
            rows=failed,
            base_run_id=base,
            look_closer=(command,),
        )
    groups = {_names(row) for row in source.mart("rpt_audit")}
    groups = {names for names in groups if all(selects(each, dict(zip(NAMES, names, strict=True))) for each in named)}
    before = {_names(row) for row in source.mart("rpt_audit", base)}
    silent = _silent(rule, groups & before, rows, comparison)
    n_judged = sum(row["verdict"] not in NOT_JUDGED for row in rows)
    if silent or not n_judged:
        reason = f"{len(silent)} of {len(groups)} groups cannot be compared" if silent else NO_ROW
        return RuleResult(
            rule=str(rule),
            outcome="unmeasured",
            reason=f"{reason}, {against}",
            n_rows=len(rows),
            rows=silent,
            base_run_id=base,
            look_closer=(command,),
        )
    notes = [f"none of {n_judged} comparisons is {rule.verdict}, {against}"]
    if len(rows) > n_judged:
        notes.append(f"{len(rows) - n_judged} more could not be compared or judged")
    if groups - before:
        notes.append(f"{len(groups - before)} of {len(groups)} groups are new and have nothing to be compared with")
    return RuleResult(rule=str(rule), outcome="passed", reason="; ".join(notes), n_rows=len(rows), base_run_id=base)


def _silent(rule: VerdictRule, groups: Iterable[Names], rows: list[Row], comparison: list[Row]) -> tuple[RuleRow, ...]:
    """Returns the models, tasks and strategies that both runs asked and of which the rule has nothing to say.

    One that was compared in other measures than the rule's is none: not every task has every measure.
    """
    silent = []
    compared = {_names(row) for row in comparison}
    for names in sorted(groups):
        own = [row for row in rows if _names(row) == names]
        if any(row["verdict"] not in NOT_JUDGED for row in own) or (not own and names in compared):
            continue
        reasons = dict.fromkeys(str(row["reason"]) for row in own if row["reason"])
        reason = "; ".join(list(reasons)[:3]) or "not in the comparison"
        model_id, task_id, strategy = names
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


def _names(row: Row) -> Names:
    return row["model_id"], row["task_id"], row["strategy"]
