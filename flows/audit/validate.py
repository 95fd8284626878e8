"""Checks that answers kept their format before anything is aggregated; Great Expectations looks at a small summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.system.helper_processes import CHECKS, ChildEnded, start
from flows.warehouse import Warehouse, now
from flows.warehouse.rows import frame_of
from flows.warehouse.sql import sql
from models_registry.cards import FormatLimits
from models_registry.errors import WarehouseError


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """How many format checks a run failed, and what followed from it."""

    n_checks: int
    failures: tuple[str, ...]  # a line each, worst first
    action: str  # none, quarantined, failed, warned
    n_quarantined: int
    n_variants: int  # model × variant pairs that were asked


def validate(warehouse: Warehouse, audit_run_id: str, limits: FormatLimits) -> ValidationResult:
    """Checks the format summary of a run against its limits and lands every result in raw.format_checks."""
    summary = warehouse.read(sql("audit", "format_summary"), run=audit_run_id)
    # completeness and the label set are no rates a card may loosen; quarantine cannot mend them
    allowed: dict[str, tuple[str, float | None]] = {
        "every planned cell landed": ("n_missing", 0.0),
        "labels inside the set": ("n_outside_labels", 0.0),
        "invalid rate": ("invalid_rate", limits.max_invalid_rate),
        "empty rate": ("empty_rate", limits.max_empty_rate),
        "error rate": ("error_rate", limits.max_error_rate),
        "distinct completions": ("n_distinct_completions", limits.max_distinct_completions),
    }
    checked_at = now()
    rows: list[dict[str, Any]] = []
    failures: list[tuple[float, str]] = []
    quarantined: set[tuple[str, str]] = set()
    checked = {name: (column, float(limit)) for name, (column, limit) in allowed.items() if limit is not None}
    offenders = _offenders(summary, dict(checked.values())) if summary else {}
    for name, (column, limit) in checked.items():
        for index, row in enumerate(summary):
            is_success = index not in offenders[column]
            action, reason = "none", None
            if not is_success:
                reason = f"{name} {_shown(row[column])}, allowed {_shown(limit)}"
                action = _action(limits.policy, column)
                if action == "quarantined":
                    quarantined.add((row["model_id"], row["prompt_variant_id"]))
                where = f"model '{row['model_id']}', task '{row['task_id']}', {row['strategy']} variant {row['variant_index']}"
                failures.append((row[column] - limit, f"{where}: {reason}"))
            rows.append(
                {
                    "audit_run_id": audit_run_id, "expectation": name, "model_id": row["model_id"],
                    "task_id": row["task_id"], "prompt_variant_id": row["prompt_variant_id"],
                    "observed": row[column], "allowed": limit, "is_success": is_success, "policy": limits.policy,
                    "action": action, "reason": reason, "checked_at": checked_at,
                }
            )  # fmt: skip
    warehouse.land([("format_checks", frame_of("format_checks", rows))])
    actions = {row["action"] for row in rows}
    worst = next((action for action in ("failed", "quarantined", "warned") if action in actions), "none")
    lines = tuple(line for _, line in sorted(failures, key=lambda pair: -pair[0]))
    return ValidationResult(
        n_checks=len(rows), failures=lines, action=worst, n_quarantined=len(quarantined), n_variants=len(summary)
    )


def _action(policy: str, column: str) -> str:
    if policy == "fail" or column == "n_outside_labels":
        return "failed"
    return "quarantined" if policy == "quarantine" and column != "n_missing" else "warned"


def _shown(value: float) -> str:
    return f"{value:.3g}" if value != int(value) else str(int(value))


def _offenders(summary: Sequence[dict[str, Any]], limits: Mapping[str, float]) -> dict[str, set[int]]:
    """Per column, the indices of the rows above its limit, as Great Expectations finds them."""
    columns = {column: [row[column] for row in summary] for column in limits}
    try:
        rows_above = start(CHECKS).ask({"columns": columns, "limits": dict(limits)})
    except ChildEnded as error:
        msg = f"validate: the process that runs Great Expectations ended: {error}"
        raise WarehouseError(msg) from None
    return {column: set(rows) for column, rows in rows_above.items()}
