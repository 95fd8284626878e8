"""Prompt variants as runs have landed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flows.audit.plan import Variant
from flows.audit.wordings import Proposal
from flows.warehouse import Warehouse


def landed_variants(warehouse: Warehouse, audit_run_id: str) -> list[Variant]:
    """The variants a run asks, by task, strategy and index."""
    rows = warehouse.read(
        "select prompt_variant_id, task_id, strategy, paraphrase_temperature, variant_index, is_original, instruction, "
        "repetitions, answer_schema, template, reader from raw.prompt_variants "
        "where audit_run_id = $audit_run_id and refused_because is null order by task_id, strategy, variant_index",
        audit_run_id=audit_run_id,
    )
    return [Variant(**{**row, "repetitions": tuple(row["repetitions"])}) for row in rows]


def made_before(warehouse: Warehouse, key: str) -> list[Proposal] | None:
    """The wordings of the newest run that used the same instruction and rephraser, a person's edits among them."""
    rows = rows_made_before(warehouse, key)
    return [Proposal(**{name: row[name] for name in row if name != "answer_schema"}) for row in rows] or None


def rows_made_before(warehouse: Warehouse, key: str, strategy: str | None = None) -> list[dict[str, Any]]:
    """The variants of one strategy, any or this, of the newest run with this key."""
    return warehouse.read(
        "with newest as (select variants.audit_run_id, variants.strategy from raw.prompt_variants as variants "
        "inner join raw.audit_runs as runs using (audit_run_id) where variants.rephrasing_key = $key "
        "and variants.strategy = coalesce($strategy, variants.strategy) "
        "order by runs.started_at desc, variants.strategy limit 1) "
        "select paraphrase_temperature, variant_index, instruction, is_edited, refused_because, answer_schema "
        "from raw.prompt_variants inner join newest using (audit_run_id, strategy) where rephrasing_key = $key "
        "order by refused_because is not null, abs(variant_index)",
        key=key,
        strategy=strategy,
    )


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
