"""Checks that answers kept their format before anything is aggregated; Great Expectations looks at a small summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from promptaudit.flows.system.helper_processes import CHECKS, ChildEnded, start
from promptaudit.flows.system.keys import as_json, content_id
from promptaudit.flows.warehouse import Row, Warehouse, now
from promptaudit.flows.warehouse.rows import frame_of
from promptaudit.flows.warehouse.sql import sql
from promptaudit.models_registry.cards import FormatLimits
from promptaudit.models_registry.errors import MeasureError, WarehouseError

NAMES = ("model_id", "prompt_variant_id", "task_id", "strategy", "variant_index")
"""The columns of the summary that are no figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """How many format checks a run failed, and what followed from it."""

    n_checks: int
    failures: tuple[str, ...]  # a line each, worst first
    action: str  # none, quarantined, failed, warned
    n_quarantined: int
    n_variants: int  # model × variant pairs that were asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that a row of the summary may have in a column, and the field of the card that says so."""

    name: str
    column: str
    allowed: float
    allowed_by: str


def validate(warehouse: Warehouse, audit_run_id: str, limits: FormatLimits) -> ValidationResult:
    """Checks the format summary of a run against its limits; lands every check, and the validation as a whole.

    Raises:
        MeasureError: the summary lacks a row that was planned, or has another one; no check lands.
        WarehouseError: Great Expectations ended without a result.
    """
    summary = warehouse.read(sql("formats", "format_summary"), run=audit_run_id)
    (planned,) = warehouse.read(sql("formats", "planned_formats"), run=audit_run_id)
    checked = list(_limits(limits))
    checked_at = now()
    offenders: dict[str, set[tuple[str, str]]] = {}
    validations: list[dict[str, Any]] = []
    if summary or planned["n_rows"]:
        answer = _ask(summary, planned, checked)
        validations = _new_validations(warehouse, audit_run_id, answer["result"], checked_at)
        offenders = {
            column: {(model, variant) for model, variant in rows} for column, rows in answer["offenders"].items()
        }
        differences = list(_differences(answer["result"]))
        if differences:
            warehouse.land([("format_validations", frame_of("format_validations", validations))])
            msg = f"the format summary of run {audit_run_id} is not what was planned: {'; '.join(differences)}"
            raise MeasureError(msg)
    rows: list[dict[str, Any]] = []
    failures: list[tuple[float, str]] = []
    quarantined: set[tuple[str, str]] = set()
    for limit in checked:
        for row in summary:
            key = (row["model_id"], row["prompt_variant_id"])
            is_success = key not in offenders[limit.column]
            action, reason = "none", None
            if not is_success:
                reason = f"{limit.name} {_shown(row[limit.column])}, allowed {_shown(limit.allowed)}"
                action = _action(limits.policy, limit.column)
                if action == "quarantined":
                    quarantined.add(key)
                where = f"model '{row['model_id']}', task '{row['task_id']}', {row['strategy']} variant {row['variant_index']}"
                failures.append((row[limit.column] - limit.allowed, f"{where}: {reason}"))
            rows.append(
                {
                    "audit_run_id": audit_run_id,
                    "expectation": limit.name,
                    "model_id": row["model_id"],
                    "task_id": row["task_id"],
                    "prompt_variant_id": row["prompt_variant_id"],
                    "observed": row[limit.column],
                    "allowed": limit.allowed,
                    "is_success": is_success,
                    "policy": limits.policy,
                    "action": action,
                    "reason": reason,
                    "checked_at": checked_at,
                }
            )
    warehouse.land(
        [
            ("format_checks", frame_of("format_checks", rows)),
            ("format_validations", frame_of("format_validations", validations)),
        ]
    )
    actions = {row["action"] for row in rows}
    worst = next((action for action in ("failed", "quarantined", "warned") if action in actions), "none")
    lines = tuple(line for _, line in sorted(failures, key=lambda pair: -pair[0]))
    return ValidationResult(
        n_checks=len(rows), failures=lines, action=worst, n_quarantined=len(quarantined), n_variants=len(summary)
    )


def _limits(limits: FormatLimits) -> Iterator[Limit]:
    """Gives the limits of a card, and two that none may loosen: quarantine cannot mend completeness and the label set."""
    yield Limit(name="every planned cell landed", column="n_missing", allowed=0, allowed_by="no field of the card")
    yield Limit(
        name="labels inside the set", column="n_outside_labels", allowed=0, allowed_by="labels of the task card"
    )
    of_card = {
        "max_invalid_rate": ("invalid rate", "invalid_rate"),
        "max_empty_rate": ("empty rate", "empty_rate"),
        "max_error_rate": ("error rate", "error_rate"),
        "max_distinct_completions": ("distinct completions", "n_distinct_completions"),
    }
    for field, (name, column) in of_card.items():
        allowed = getattr(limits, field)
        if allowed is not None:
            yield Limit(
                name=name, column=column, allowed=float(allowed), allowed_by=f"format.{field} of the audit card"
            )


def _action(policy: str, column: str) -> str:
    if policy == "fail" or column == "n_outside_labels":
        return "failed"
    return "quarantined" if policy == "quarantine" and column != "n_missing" else "warned"


def _shown(value: float) -> str:
    return f"{value:.3g}" if value != int(value) else str(int(value))


def _ask(summary: Sequence[Row], planned: Row, limits: Sequence[Limit]) -> dict[str, Any]:
    """Returns Great Expectations' result, and by column the model and variant of each row above its limit."""
    names = (*NAMES, *(limit.column for limit in limits))
    request = {
        "suite": f"answer formats of {planned['audit_id']}",
        "columns": {name: [row[name] for row in summary] for name in names},
        "limits": [asdict(limit) for limit in limits],
        "n_rows": planned["n_rows"],
        "sets": {"model_id": planned["models"], "strategy": planned["strategies"]},
    }
    try:
        answer: dict[str, Any] = start(CHECKS).ask({"validate": request})
    except ChildEnded as error:
        msg = f"validate: the process that runs Great Expectations ended: {error}"
        raise WarehouseError(msg) from None
    return answer


def _new_validations(
    warehouse: Warehouse, audit_run_id: str, result: dict[str, Any], checked_at: datetime
) -> list[dict[str, Any]]:
    """Returns the row of a validation; none where the run's newest has the same result."""
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
    """Gives in which respects a summary is not what was planned: rows that are lost, unknown, incomplete or there twice."""
    for each in result["results"]:
        if each["success"]:
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
