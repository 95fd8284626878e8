"""The rows of a run that the marts hold, beside its scorecard: what its gate says, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows.report.queries import query
from flows.warehouse import Ask, Row, Warehouse
from flows.warehouse.schema import TABLES
from models_registry.errors import CardError, UsageError, WarehouseError

if TYPE_CHECKING:
    from flows.gate.outcome import GateResult

NEEDED = {"marts.rpt_run_comparisons", "raw.comparisons", "raw.baselines"}


def gather_checked(warehouse: Warehouse, run: Row) -> GateResult | None:
    """What the gate says of a run, its age left aside; None without its landed row, and for rules of another version."""
    from flows.gate.check import check_run

    try:
        return check_run(warehouse, run["audit_run_id"], now=run["started_at"])
    except (CardError, UsageError, WarehouseError):
        return None


def gather_changes(ask: Ask) -> list[Row]:
    """Rows of the comparisons of one run with earlier ones; empty without any, and for a warehouse of an older version."""
    return ask(query("changes")) if {row["name"] for row in ask(TABLES)} >= NEEDED else []
