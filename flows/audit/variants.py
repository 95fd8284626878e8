"""Prompt variants as runs have landed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flows.audit.plan import Variant
from flows.audit.wordings import Proposal
from flows.warehouse import Warehouse
from flows.warehouse.sql import sql


def landed_variants(warehouse: Warehouse, audit_run_id: str) -> list[Variant]:
    """The variants a run asks, by task, strategy and index."""
    rows = warehouse.read(sql("audit", "landed_variants"), audit_run_id=audit_run_id)
    return [Variant(**{**row, "repetitions": tuple(row["repetitions"])}) for row in rows]


def made_before(warehouse: Warehouse, key: str) -> list[Proposal] | None:
    """The wordings of the newest run that used the same instruction and rephraser, a person's edits among them."""
    rows = rows_made_before(warehouse, key)
    return [Proposal(**{name: row[name] for name in row if name != "answer_schema"}) for row in rows] or None


def rows_made_before(warehouse: Warehouse, key: str, strategy: str | None = None) -> list[dict[str, Any]]:
    """The variants of one strategy, any or this, of the newest run with this key."""
    return warehouse.read(sql("audit", "variants_made_before"), key=key, strategy=strategy)


def same_wordings(warehouse: Warehouse, audit_run_id: str, edited: Mapping[str, Sequence[Proposal]]) -> bool:
    """Whether a run asks exactly these wordings."""
    asked = {
        (v.task_id, v.paraphrase_temperature, v.variant_index, v.instruction)
        for v in landed_variants(warehouse, audit_run_id)
        if v.template is None
    }
    wanted = {
        (task_id, p.paraphrase_temperature, p.variant_index, p.instruction)
        for task_id, ps in edited.items()
        for p in ps
    }
    return asked == wanted
