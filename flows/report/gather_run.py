"""The rows of a run that the marts hold, beside its scorecard: what its gate says, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows.warehouse import Ask, Row, Warehouse
from flows.warehouse.schema import TABLES
from models_registry.errors import CardError, UsageError, WarehouseError

if TYPE_CHECKING:
    from flows.gate.outcome import Checked

NEEDED = {"marts.rpt_run_comparisons", "raw.comparisons", "raw.baselines"}
MOST_BASES = 4
# of several comparisons with one run the newest counts; pinned baselines first, then the newest run
CHANGES = f"""
with requests as (
    select comparison_id, base_run_id, max(requested_at) as requested_at
    from raw.comparisons where candidate_run_id = $run and not is_trial
    group by all
),

pinned as (
    select audit_run_id, name from raw.baselines
    qualify row_number() over (partition by audit_id, name order by pinned_at desc) = 1
),

bases as (
    select
        requests.comparison_id, requests.base_run_id, min(pinned.name) as baseline, any_value(runs.started_at) as base_started_at
    from requests
    left join pinned on pinned.audit_run_id = requests.base_run_id
    left join marts.dim_audit_runs as runs on runs.audit_run_id = requests.base_run_id
    group by requests.comparison_id, requests.base_run_id, requests.requested_at
    qualify row_number() over (
        partition by requests.base_run_id order by requests.requested_at desc, requests.comparison_id desc
    ) = 1
),

shown as (
    select * from bases order by baseline is null, base_started_at desc nulls last, base_run_id limit {MOST_BASES}
)

select found.*, shown.baseline, shown.base_started_at
from marts.rpt_run_comparisons as found
inner join shown on found.comparison_id = shown.comparison_id
where coalesce(found.base_model_id, found.model_id) = found.model_id
order by
    shown.baseline is null, shown.base_started_at desc nulls last, shown.base_run_id, found.task_id, found.strategy,
    found.model_id, found.measure
"""  # noqa: S608 - our own number


def gather_checked(warehouse: Warehouse, run: Row) -> Checked | None:
    """What the gate says of a run, its age left aside; None without its landed row, and for rules of another version."""
    from flows.gate.check import check_run

    try:
        return check_run(warehouse, run["audit_run_id"], now=run["started_at"])
    except (CardError, UsageError, WarehouseError):
        return None


def gather_changes(ask: Ask) -> list[Row]:
    """Rows of the comparisons of one run with earlier ones; empty without any, and for a warehouse of an older version."""
    return ask(CHANGES) if {row["name"] for row in ask(TABLES)} >= NEEDED else []
