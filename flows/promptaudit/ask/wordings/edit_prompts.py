"""Writes the prompt variants to a file for a person to edit before a run, and reads it back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from promptaudit.ask.wordings.variants import Proposal, rewordings
from promptaudit.plan.design import Design
from promptaudit.prompts.rephrasers.protected_spans import protected_words
from promptaudit.prompts.rephrasers.refusals import why_refused
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.errors import DataError, nearest
from promptaudit.registry.tables import read_text_table
from promptaudit.system.files import writing
from promptaudit.system.keys import content_id

EDITABLE = ("task", "paraphrase_temperature", "variant_index", "instruction", "made")


def export_prompts(proposals: Mapping[str, Sequence[Proposal]], path: Path) -> int:
    """Writes the wordings that would be asked as CSV or JSONL for a person to edit; returns how many."""
    if path.suffix.lower() not in (".csv", ".jsonl", ".ndjson"):
        msg = f"{path}: name a .csv or .jsonl file"
        raise DataError(msg)
    has_own = any(p.own_of is not None for wordings in proposals.values() for p in wordings)
    rows = [
        {
            "task": task_id,
            **({"model": p.own_of} if has_own else {}),
            "paraphrase_temperature": p.paraphrase_temperature,
            "variant_index": p.variant_index,
            "instruction": p.instruction,
            "made": content_id(p.instruction)[:12],
        }
        for task_id, wordings in proposals.items()
        for p in wordings
        if p.refused_because is None
    ]
    frame = pl.DataFrame(rows, schema_overrides={"paraphrase_temperature": pl.Float64})
    with writing(path, kind=DataError):
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            frame.write_ndjson(path)
        else:
            frame.write_csv(path)
    return len(rows)


def read_prompts(path: Path, design: Design) -> dict[str, list[Proposal]]:
    """Reads the wordings of a person's file; a wording whose text is not what was exported is marked edited."""
    frame = read_text_table(path)
    for column in EDITABLE[:4]:
        if column not in frame.columns:
            msg = f"{path}: no column '{column}'{nearest(column, frame.columns)}"
            raise DataError(msg)
    # templates are edited in their card
    proposals_of: dict[str, list[Proposal]] = {
        task_id: [] for task_id in design.tasks if task_id not in design.templates
    }
    rephrasers = {task_id: {each.own_of: each.card for each in rewordings(design, task_id)} for task_id in proposals_of}
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        where = f"{path} row {number}"
        if row["task"] not in proposals_of:
            msg = f"{where}: task {row['task']!r} is not in the audit{nearest(row['task'] or '', proposals_of)}"
            raise DataError(msg)
        proposal = _edited(where, row)
        _refuse_owner(where, proposal, rephrasers[row["task"]])
        card = design.tasks[row["task"]]
        protected = protected_words(card, rephrasers[row["task"]][proposal.own_of], is_given=True)
        reason = why_refused(card.instruction, proposal.instruction, protected, is_given=True)
        if reason:
            msg = f"{where}: the wording is refused: {reason}"
            raise DataError(msg)
        if any(
            (p.own_of, p.paraphrase_temperature, p.variant_index)
            == (proposal.own_of, proposal.paraphrase_temperature, proposal.variant_index)
            for p in proposals_of[row["task"]]
        ):
            msg = f"{where}: variant {proposal.variant_index} of task {row['task']!r} stands twice"
            raise DataError(msg)
        proposals_of[row["task"]].append(proposal)
    for task_id, proposals in proposals_of.items():
        if not any(p.variant_index == 0 for p in proposals):
            msg = f"{path}: task {task_id!r} has no variant 0, the original"
            raise DataError(msg)
    return proposals_of


def _refuse_owner(where: str, proposal: Proposal, rephrasers: Mapping[str | None, RephraserCard | None]) -> None:
    # a wording of a model that rewords nothing for itself, or one without a model if each model has its own
    models = [name for name in rephrasers if name is not None]
    if proposal.variant_index == 0 and proposal.own_of is not None:
        msg = f"{where}: variant 0, the original, is of every model: leave column 'model' empty"
        raise DataError(msg)
    if proposal.own_of not in rephrasers or (models and proposal.variant_index and proposal.own_of is None):
        known = (
            f"the models that reword for themselves: {', '.join(models)}" if models else "no model rewords for itself"
        )
        close = nearest(proposal.own_of, models) if proposal.own_of and models else ""
        msg = f"{where}: column 'model' has {proposal.own_of or ''!r}; {known}{close}"
        raise DataError(msg)


def _edited(where: str, row: Mapping[str, str | None]) -> Proposal:
    try:
        index = int(row["variant_index"] or "")
        temperature = float(row["paraphrase_temperature"]) if row["paraphrase_temperature"] else None
        if index < 0 or (temperature is not None and not (math.isfinite(temperature) and temperature >= 0)):
            raise ValueError  # noqa: TRY301 - one message for both
    except ValueError:
        msg = f"{where}: variant_index is a whole number from 0, paraphrase_temperature a number from 0 or nothing"
        raise DataError(msg) from None
    instruction = row["instruction"] or ""
    is_edited = row.get("made") != content_id(instruction)[:12]
    return Proposal(
        paraphrase_temperature=temperature,
        variant_index=index,
        instruction=instruction,
        own_of=row.get("model") or None,
        is_edited=is_edited,
    )
