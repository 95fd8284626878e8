"""Checks the rows of a mart against a rule on a value."""

from __future__ import annotations

import math
import operator
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from promptaudit.gate.outcome import Outcome, RuleResult, RuleRow
from promptaudit.gate.source import Source
from promptaudit.registry.gate_columns import TEMPERATURE
from promptaudit.registry.gate_rules import Condition, Rule, ValueRule
from promptaudit.system.display.compared import NAMES
from promptaudit.system.display.figures import finite, plural
from promptaudit.warehouse import Row

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
NO_ROW = "no row is selected"


def selects(conditions: Iterable[Condition], row: Row) -> bool:
    """Checks whether a row meets all conditions. NULL meets none, but no paraphrase temperature is below every one."""
    for condition in conditions:
        value = row.get(condition.column)
        if value is None and condition.column == TEMPERATURE:
            value = -math.inf
        if value is None or not OPERATORS[condition.op](value, condition.value):
            return False
    return True


def about(columns: Collection[str], rule: Rule) -> list[Condition]:
    """Picks the conditions of a rule that are about these columns."""
    return [condition for condition in rule.conditions if condition.column in columns]


def check_values(rule: ValueRule, source: Source) -> RuleResult:
    """Checks every row that the rule selects against its limit.

    An expected row or figure that is missing is unmeasured.
    """
    apart = (*rule.columns.keys, *rule.columns.temperatures)
    keyed = [each for each in (*rule.implied, *rule.conditions) if each.column in apart]
    others = [each for each in (*rule.implied, *rule.conditions) if each.column not in apart]
    there = [row for row in source.mart(rule.table) if selects(keyed, row)]
    rows = [row for row in there if selects(others, row)]
    rows.sort(key=lambda row: [str(row.get(name)) for name in apart])
    rule_rows = [*(_rule_row(rule, row, _lacking(row, source)) for row in rows), *_absent(rule, keyed, there, source)]
    not_passed = tuple(row for row in rule_rows if row is not None)
    outcome, reason = _outcome(not_passed, len(rows))
    commands = (
        f"promptaudit sql {_in_shell(query_of(rule, source))}",
        f"promptaudit report {shlex.quote(source.audit_run_id)}",
    )
    return RuleResult(
        rule=str(rule),
        outcome=outcome,
        reason=reason,
        n_rows=len(rows),
        rows=not_passed,
        look_closer=() if outcome == "passed" else commands,
    )


def _outcome(rows: Sequence[RuleRow], n_rows: int) -> tuple[Outcome, str]:
    states = [row.state for row in rows]
    n_failed, n_unmeasured = states.count("failed"), states.count("unmeasured")
    if n_failed:
        which = "the only row" if n_rows == 1 else f"{n_failed} of {n_rows} rows"
        return "failed", f"{which} {'fails' if n_failed == 1 else 'fail'}"
    if n_unmeasured:
        has = "has" if n_unmeasured == 1 else "have"
        is_part = any(row.state == "unmeasured" and row.figure is not None for row in rows)
        return (
            "unmeasured",
            f"{plural(n_unmeasured, 'row')} {has} no figure{' of all that was planned' if is_part else ''}",
        )
    return ("passed", f"holds for {plural(n_rows, 'row')}") if n_rows else ("unmeasured", NO_ROW)


def _rule_row(rule: ValueRule, row: Row, lacking: str | None) -> RuleRow | None:
    # a figure of a part of the samples or wordings cannot pass
    figure = finite(row.get(rule.figure))
    holds = figure is not None and OPERATORS[rule.op](figure, rule.limit)
    if holds and lacking is None:
        return None
    interval = rule.columns.interval_of(rule.figure)
    estimate, low, high = interval or (None, None, None)
    renamed = estimate is not None and estimate == rule.figure
    return RuleRow(
        state="unmeasured" if holds or figure is None else "failed",
        measure=rule.column,
        **{name: row.get(name) for name in NAMES},
        others=dict(_others(rule, row)),
        figure=figure,
        estimate=rule.column if renamed else estimate,
        value=finite(row.get(estimate)) if estimate else None,
        low=finite(row.get(low)) if low else None,
        high=finite(row.get(high)) if high else None,
        reason="no figure" if figure is None else lacking,
    )


def _lacking(row: Row, source: Source) -> str | None:
    for group in source.mart("rpt_audit"):
        if any(row.get(name) not in (None, group[name]) for name in NAMES):
            continue
        parts = [
            f"{group[n]} of {group[planned]} {what}"
            for n, planned, what in (
                ("n_samples", "n_samples_planned", "samples"),
                ("n_variants_answered", "n_variants", "wordings"),
            )
            if group.get(n) is not None and group[n] < (group.get(planned) or 0)
        ]
        if parts:
            return f"it is of {' and '.join(parts)}: the others have no answer"
    return None


def _others(rule: ValueRule, row: Row) -> Iterator[tuple[str, Any]]:
    # keys beside model, task and strategy that are not the same for every row of the rule
    implied = {condition.column for condition in rule.implied}
    for name in (*rule.columns.keys, *rule.columns.temperatures):
        if name not in NAMES and name not in implied and row.get(name) is not None:
            yield name, row[name]
    if row.get("series") in ("cumulative", "adjacent"):
        yield "n_annotators", row["n_annotators"]


def _absent(rule: ValueRule, keyed: list[Condition], there: list[Row], source: Source) -> Iterator[RuleRow]:
    # a group that was asked, meets the conditions and has no row: every answer may have been put aside
    lacking = partial(RuleRow, state="unmeasured", measure=rule.column, reason="no row")
    on_scope = [each for each in keyed if each.column == "scope"]
    on_names = [each for each in keyed if each.column in NAMES]
    if rule.table == "fct_prompt_stability":
        scopes = [scope for scope in ("intra", "inter") if selects(on_scope, {"scope": scope})]
        present = {tuple(row[name] for name in NAMES) for row in there}
        for model_id, task_id, strategy in source.groups():
            names = (model_id if scopes else None, task_id, strategy)
            wanted: dict[str, Any] = dict(zip(NAMES, names, strict=True))
            if names not in present and selects(on_names, wanted):
                present.add(names)
                yield lacking(**wanted)
    elif rule.table == "fct_scoring_sensitivity":
        seen = {(row["model_id"], row["task_id"], row["scoring_method"]) for row in there}
        methods = {(task, method) for task, listed in source.scoring_methods.items() for method in listed}
        methods |= {(task, method) for _, task, method in seen}
        for model, task in sorted({group[:2] for group in source.groups()}):
            for method in sorted(method for owner, method in methods if owner == task):
                row = {"model_id": model, "task_id": task, "scoring_method": method}
                if (model, task, method) not in seen and selects(keyed, row):
                    yield lacking(model_id=model, task_id=task, others={"scoring_method": method})


def query_of(rule: ValueRule, source: Source) -> str:
    """Writes SQL that shows the rows a rule finds fault with: names of the static table, texts as literals."""
    figures = dict.fromkeys((*(rule.columns.interval_of(rule.figure) or ()), rule.figure))
    columns = ", ".join((*rule.columns.keys, *rule.columns.temperatures, *figures))
    tests = [f"audit_run_id = {_literal(source.audit_run_id)}"]
    for condition in (*rule.implied, *rule.conditions):
        name = f"coalesce({TEMPERATURE}, -1)" if condition.column == TEMPERATURE else condition.column
        op = "<>" if condition.op == "!=" else condition.op  # what an interactive shell would take for its history
        tests.append(f"{name} {op} {_literal(condition.value)}")
    tests.append(f"({rule.figure} {rule.op} {rule.limit:.15g}) is not true")
    return f"select {columns} from marts.{rule.table} where {' and '.join(tests)}"  # noqa: S608 - shown, not run


def _in_shell(query: str) -> str:
    # double quotes read better and are safe where nothing in the query has a meaning in a shell
    return shlex.quote(query) if set('"$`\\!') & set(query) or not query.isprintable() else f'"{query}"'


def _literal(value: str | float | bool) -> str:  # noqa: FBT001 - a value of any kind
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"
