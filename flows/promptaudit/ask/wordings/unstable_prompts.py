"""Writes the wordings under which a run's answers agree too little, for a person to mend, or to ask another model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptaudit.ask.wordings.edit_prompts import export_prompts
from promptaudit.ask.wordings.variants import Proposal
from promptaudit.system.settings import Settings
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.run_names import resolve
from promptaudit.warehouse.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstablePrompts:
    """Describes the file of wordings whose paraphrase temperature had too low a PSS; without any, `path` is None."""

    audit_run_id: str
    below_pss: float
    path: Path | None
    n_variants: int
    tasks: tuple[str, ...]


def export_unstable(settings: Settings, audit: str, path: Path, below: float) -> UnstablePrompts:
    """Writes the wordings of an audit's newest complete run, or of a named one, whose paraphrase temperature had a low PSS.

    Low is a PSS between wordings below `below` for at least one model and strategy: of labels, N/A among them, or of
    answers as they are if a task names no labels. The originals of their tasks are included, so that an audit of these
    tasks can ask the file. Raises UsageError for an audit without such a run, DataError for a file that cannot be
    written.
    """
    warehouse = Warehouse(settings.warehouse)
    run = resolve(warehouse, audit).audit_run_id
    proposals: dict[str, list[Proposal]] = {}
    for row in warehouse.published.read(sql("ask.wordings", "unstable_wordings"), run=run, below=below):
        wordings = proposals.setdefault(row.pop("task_id"), [])
        # wordings that models made for themselves are asked of all: numbered on, because each model's own begin with 1
        place = (
            {}
            if row["own_of"] is None
            else {"own_of": None, "variant_index": 1 + max((each.variant_index for each in wordings), default=0)}
        )
        wordings.append(Proposal(**row | place))
    n = export_prompts(proposals, path) if proposals else 0
    return UnstablePrompts(
        audit_run_id=run, below_pss=below, path=path if n else None, n_variants=n, tasks=tuple(proposals)
    )
