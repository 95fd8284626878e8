"""Keeps which measures a build could not derive, for which groups and why, and reads them for messages about a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptaudit.system.clock import now
from promptaudit.system.keys import content_id
from promptaudit.system.scrub import one_line
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of

MAX_REASON = 300
MOST_LINES = 10
EXIT_CODE = 3
"""The exit code of a command that published its run without some figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDerived:
    """A measure that is missing for a group of a run, and why. Keys that the measure does not have are None."""

    audit_run_id: str
    measure: str
    model_id: str | None
    task_id: str | None
    strategy: str | None
    reason: str


def land_not_derived(
    warehouse: Warehouse,
    part: str,
    audit_run_ids: Sequence[str],
    comparison_ids: Sequence[str],
    found: Sequence[Mapping[str, str | None]],
) -> None:
    """Replaces what the last build of this part did not derive by what this build did not derive."""
    told_at = now()
    with warehouse.write() as con:
        own = {"part": part, "runs": list(audit_run_ids), "comparisons": list(comparison_ids)}
        old = "part = $part and list_contains($runs || $comparisons, coalesce(comparison_id, audit_run_id))"
        stands = con.execute(f"select 1 from raw.not_derived where {old} limit 1", own).fetchall()  # noqa: S608 - our words
        if not found and not stands:
            return
        candidates = dict(con.execute("select comparison_id, candidate_run_id from raw.comparisons").fetchall())
        rows: list[dict[str, Any]] = []
        for each in found:
            keys = json.loads(each["group_keys"] or "{}")
            run = keys.get("audit_run_id") or candidates.get(keys.get("comparison_id"))
            rows.append(
                {
                    **{name: keys.get(name) for name in ("comparison_id", "model_id", "task_id", "strategy")},
                    "audit_run_id": run or audit_run_ids[0],
                    "not_derived_id": content_id(part, each["measure"], each["relation"], each["group_keys"]),
                    "part": part,
                    "measure": each["measure"],
                    "relation": each["relation"],
                    "reason": one_line(each["reason"] or "", limit=MAX_REASON),
                    "told_at": told_at,
                }
            )
        landed = frame_of("not_derived", rows).to_arrow()  # noqa: F841 - read by name in SQL
        con.execute("begin")
        con.execute(f"delete from raw.not_derived where {old}", own)  # noqa: S608 - our words
        con.execute("insert into raw.not_derived by name select * from landed")
        con.execute("commit")


def not_derived(warehouse: Warehouse, audit_run_id: str) -> tuple[NotDerived, ...]:
    """Reads what the newest builds of a run, or of every run whose id begins like this, did not derive."""
    query = (
        "select distinct audit_run_id, measure, model_id, task_id, strategy, reason from raw.not_derived "
        "where starts_with(audit_run_id, $run) order by all"
    )
    return tuple(NotDerived(**row) for row in warehouse.read(query, run=audit_run_id))


def lines_of(missing: Sequence[NotDerived]) -> list[str]:
    """Writes a line for each of the first ten, and one that counts the others."""
    lines = [
        f"not derived: {each.measure} of {' '.join(filter(None, (each.model_id, each.task_id, each.strategy)))}: {each.reason}"
        for each in missing[:MOST_LINES]
    ]
    more = len(missing) - MOST_LINES
    return [*lines, f"and {more} more, which rpt_not_derived has"] if more > 0 else lines
