"""Checks that answers kept their format before anything is aggregated; Great Expectations looks at a small summary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from promptaudit.audit.formats.expectations import OWN
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import MeasureError, WarehouseError
from promptaudit.registry.expectation_suites import SUMMARY_COLUMNS, Expectation, ExpectationSuite
from promptaudit.system.clock import now
from promptaudit.system.helper_processes import CHECKS, ChildFailed, start
from promptaudit.system.keys import as_json, content_id
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.sql import sql

WORST_FIRST = ("failed", "warned")
"""What may follow from a failed check, the worst first."""
WITHOUT_ANSWER = ("every planned cell landed", "error rate")
"""Names of the checks about cells that have no answer. A failure of these is no fault of a format."""
LIMIT_S = 600.0  # for Great Expectations, which takes seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """Counts the format checks that a run failed, and says what followed."""

    n_checks: int
    failures: tuple[str, ...]  # a line each, worst first
    action: str  # none, failed, warned
    n_breaking: int  # how many of the pairs break their format
    n_variants: int  # model × variant pairs that were asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Sets the most that a row of the summary may have in a column, and names the field of the card that says so."""

    name: str
    column: str
    allowed: float
    allowed_by: str


def validate(warehouse: Warehouse, audit_run_id: str, limits: FormatLimits) -> ValidationResult:
    """Checks the format summary of a run against its limits and the expectations of its card's own suite.

    Every check lands, and so does the validation as a whole.

    Raises:
        MeasureError: the summary lacks a planned row, or has one that was not planned; no check lands.
        WarehouseError: Great Expectations ended without a result.
    """
    summary = warehouse.read(sql("audit.formats", "format_summary"), run=audit_run_id)
    (planned,) = warehouse.read(sql("audit.formats", "planned_formats"), run=audit_run_id)
    of_card = list(_limits(limits))
    checked_at = now()
    checks: list[dict[str, Any]] = []
    validations: list[dict[str, Any]] = []
    if summary or planned["n_rows"]:
        answer = _ask(summary, planned, of_card, limits.suite)
        validations = _new_validations(warehouse, audit_run_id, answer["result"], checked_at)
        differences = list(_differences(answer["result"]))
        if differences:
            warehouse.land([("format_validations", frame_of("format_validations", validations))])
            msg = f"the format summary of run {audit_run_id} is not what was planned: {'; '.join(differences)}"
            raise MeasureError(msg)
        checks += _checks_of_limits(of_card, answer["offenders"], limits.policy, summary)
        checks += _own_checks(limits, answer["own"], summary)
    rows = [
        {**check, "audit_run_id": audit_run_id, "policy": limits.policy, "checked_at": checked_at} for check in checks
    ]
    warehouse.land(
        [
            ("format_checks", frame_of("format_checks", rows)),
            ("format_validations", frame_of("format_validations", validations)),
        ]
    )
    actions = {row["action"] for row in rows}
    return ValidationResult(
        n_checks=len(rows),
        failures=tuple(_lines(rows, summary)),
        action=next((action for action in WORST_FIRST if action in actions), "none"),
        n_breaking=len({_key(row) for row in rows if breaks_format(row)}),
        n_variants=len(summary),
    )


def _checks_of_limits(
    limits: Sequence[Limit], offenders: Mapping[str, Sequence[Sequence[str]]], policy: str, summary: Sequence[Row]
) -> Iterator[dict[str, Any]]:
    for limit in limits:
        above = {tuple(key) for key in offenders[limit.column]}
        for row in summary:
            observed, is_success = row[limit.column], _key(row) not in above
            yield _check(
                limit.name,
                row,
                observed=observed,
                allowed=limit.allowed,
                action=None if is_success else _action(policy, limit.column),
                found="" if is_success else f" {_shown(observed)}, allowed {_shown(limit.allowed)}",
            )


def _own_checks(
    limits: FormatLimits, outcomes: Sequence[Mapping[str, Any]], summary: Sequence[Row]
) -> Iterator[dict[str, Any]]:
    # an expectation gives a check for each row of the summary, or one for all of them together
    suite = limits.suite
    if suite is None:
        return
    for index, (expectation, outcome) in enumerate(zip(suite.expectations, outcomes, strict=True)):
        place = suite.place(index)
        if outcome["rows"] is None:
            observed = _figure(outcome["observed"])
            action = None if outcome["is_success"] else _own_action(limits.policy, expectation)
            found = outcome["error"] or ("it does not hold" if observed is None else f"{_shown(observed)} is observed")
            yield _check(place, None, observed=observed, action=action, found=f", {expectation.call}: {found}")
            continue
        column, broken = str(expectation.kwargs.get("column")), {tuple(key) for key in outcome["rows"]}
        failed = _own_action(limits.policy, expectation)
        for row in summary:
            value = row.get(column)
            found = "it does not hold" if value is None else f"{column} is {_shown(value)}"
            action = failed if _key(row) in broken else None
            yield _check(place, row, observed=_figure(value), action=action, found=f", {expectation.call}: {found}")


def _check(
    name: str,
    row: Row | None,
    *,
    observed: float | None,
    allowed: float | None = None,
    action: str | None,
    found: str,
) -> dict[str, Any]:
    # `row` is None for all rows together, `action` None if the check holds; `found` says what was found if it does not,
    # and follows its name
    of_row = ("model_id", "task_id", "prompt_variant_id")
    return {
        "expectation": name,
        **(dict.fromkeys(of_row) if row is None else {column: row[column] for column in of_row}),
        "observed": observed,
        "allowed": allowed,
        "is_success": action is None,
        "action": action or "none",
        "reason": None if action is None else f"{name}{found}",
    }


def _lines(checks: Sequence[Mapping[str, Any]], summary: Sequence[Row]) -> Iterator[str]:
    # the worst first, and of these the furthest above its limit
    rows = {_key(row): row for row in summary}

    def order(check: Mapping[str, Any]) -> tuple[int, float]:
        is_limit = check["allowed"] is not None
        return WORST_FIRST.index(check["action"]), check["allowed"] - check["observed"] if is_limit else 0

    for check in sorted((each for each in checks if not each["is_success"]), key=order):
        row = rows.get(_key(check))
        where = "all answers"
        if row is not None:
            where = (
                f"model '{row['model_id']}', task '{row['task_id']}', {row['strategy']} variant {row['variant_index']}"
            )
        yield f"{where}: {check['reason']}"


def breaks_format(check: Mapping[str, Any]) -> bool:
    """Checks whether a check found a model breaking its format under a variant, as `int_variants_asked` does in SQL."""
    return not check["is_success"] and check["model_id"] is not None and check["expectation"] not in WITHOUT_ANSWER


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["model_id"], row["prompt_variant_id"]


def _limits(limits: FormatLimits) -> Iterator[Limit]:
    # no card can loosen the first two: completeness and the label set
    yield Limit(name="every planned cell landed", column="n_missing", allowed=0, allowed_by="no field of the card")
    yield Limit(
        name="labels inside the set", column="n_outside_labels", allowed=0, allowed_by="labels of the task card"
    )
    for name, column, allowed in (
        ("invalid rate", "invalid_rate", limits.max_invalid_rate),
        ("error rate", "error_rate", limits.max_error_rate),
    ):
        yield Limit(name=name, column=column, allowed=allowed, allowed_by=f"format.max_{column} of the audit card")


def _action(policy: str, column: str) -> str:
    # answers that never came say nothing about a prompt: no policy lets more of them be missing than the card says
    return "failed" if policy == "fail" or column in ("n_outside_labels", "error_rate") else "warned"


def _own_action(policy: str, expectation: Expectation) -> str:
    return "failed" if policy == "fail" and expectation.severity == "critical" else "warned"


def _shown(value: float | str) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"{value:.3g}" if value != int(value) else str(int(value))


def _figure(value: object) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _ask(
    summary: Sequence[Row], planned: Row, limits: Sequence[Limit], suite: ExpectationSuite | None
) -> dict[str, Any]:
    request = {
        "suite": f"answer formats of {planned['audit_id']}",
        "columns": {name: [row[name] for row in summary] for name in SUMMARY_COLUMNS},
        "limits": [asdict(limit) for limit in limits],
        "n_rows": planned["n_rows"],
        "sets": {"model_id": planned["models"], "strategy": planned["strategies"]},
        "own": [] if suite is None else [_own_expectation(suite, each) for each in suite.expectations],
    }
    try:
        answer: dict[str, Any] = start(CHECKS).ask({"validate": request}, LIMIT_S)
    except ChildFailed as error:
        msg = f"validate: the process that runs Great Expectations ended: {error}"
        raise WarehouseError(msg) from None
    return answer


def _own_expectation(suite: ExpectationSuite, expectation: Expectation) -> dict[str, Any]:
    # the notes say which field of the card the expectation comes from
    notes = (expectation.notes,) if isinstance(expectation.notes, str) else expectation.notes or ()
    of_field = f"format.expectations of the audit card: {suite.file}"
    taken = expectation.model_dump(mode="json", include={"type", "kwargs", "severity", "description"})
    return taken | {"notes": "; ".join((of_field, *notes))}


def _new_validations(
    warehouse: Warehouse, audit_run_id: str, result: dict[str, Any], checked_at: datetime
) -> list[dict[str, Any]]:
    # none if the run's newest validation has the same result
    query = "select validation_id, result from raw.format_validations where audit_run_id = $run order by checked_at desc limit 1"
    newest = next(iter(warehouse.read(query, run=audit_run_id)), {"validation_id": None, "result": None})
    text = as_json(result)
    if text == newest["result"]:
        return []
    return [
        {
            "audit_run_id": audit_run_id,
            "validation_id": content_id("format_validation", audit_run_id, newest["validation_id"], text),
            "suite": result["suite_name"],
            "is_success": result["success"],
            "n_expectations": result["statistics"]["evaluated_expectations"],
            "n_failed": result["statistics"]["unsuccessful_expectations"],
            "result": text,
            "gx_version": result["meta"]["great_expectations_version"],
            "checked_at": checked_at,
        }
    ]


def _differences(result: dict[str, Any]) -> Iterator[str]:
    # how a summary differs from what was planned: rows are lost, unknown, incomplete or there twice
    for each in result["results"]:
        if each["success"] or OWN in each["expectation_config"]["meta"]:
            continue
        kwargs, observed = each["expectation_config"]["kwargs"], each["result"]
        match each["expectation_config"]["type"]:
            case "expect_table_row_count_to_equal":
                yield f"it has {observed['observed_value']} rows, planned were {kwargs['value']}"
            case "expect_compound_columns_to_be_unique":
                yield f"{observed['unexpected_count']} rows are not the only one of their model and prompt variant"
            case "expect_column_values_to_be_in_set":
                yield f"{observed['unexpected_count']} rows have a {kwargs['column']} that is none of the run's"
            case "expect_column_values_to_not_be_null":
                yield f"{observed['unexpected_count']} rows have no {kwargs['column']}"
