"""Finds the wordings of a task's instruction, and the prompt variants that runs have landed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptaudit.cards.rewording import Rewording, rewordings_of
from promptaudit.plan.cells import Variant
from promptaudit.plan.design import Design
from promptaudit.prompts.messages import STRUCTURED
from promptaudit.prompts.rephrasers.protected_spans import protected_words
from promptaudit.registry.cards import SELF
from promptaudit.system.keys import as_json, content_id, sent_by
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.sql import sql

Cell = tuple[float | None, int]  # paraphrase temperature and variant index


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Describes a wording of one task's instruction, before it is a prompt variant of a run.

    The original is variant 0, refused ones count down from -1.
    """

    paraphrase_temperature: float | None
    variant_index: int
    instruction: str
    own_of: str | None = None  # the model that reworded it for itself
    is_edited: bool = False
    refused_because: str | None = None


def rewordings(design: Design, task_id: str) -> list[Rewording]:
    """Lists who rewords a task's instruction, or its first template if the audit wants that."""
    rephrasing = design.audit.rephrasing
    if task_id in design.templates and (rephrasing is None or not rephrasing.templates):
        return [Rewording(card=None)]
    if rephrasing is None or rephrasing.rephraser is None or not rephrasing.has_wording:
        return [Rewording(card=None)]
    return rewordings_of(design.registry.rephraser(rephrasing.rephraser), design.models)


def rephrasing_key(design: Design, task_id: str, rewording: Rewording) -> str:
    """Hashes what decides a task's wordings: instruction, what must be kept, rephraser and how many are wanted."""
    rephraser, card = rewording.card, design.tasks[task_id]
    protected = protected_words(card, rephraser, is_given=rephraser is not None and rephraser.is_given)
    decides = [task_id, card.instruction, as_json(protected), *rephraser_parts(design, rewording)]
    if rewording.own_of is not None:
        # schemas of strategy structured hold the labels too, and own wordings have no original to compare them with
        decides += [SELF, as_json([[item.label, item.description] for item in card.labels])]
    return content_id("rephrasing", *decides)


def rephraser_parts(design: Design, rewording: Rewording) -> list[str | None]:
    """Lists what decides a rephraser's wordings: how many are wanted, its card, its model; nothing without one."""
    rephrasing, rephraser = design.audit.rephrasing, rewording.card
    if rephrasing is None or rephraser is None:
        return []
    model = None if rephraser.model is None else as_json(sent_by(design.registry.model(rephraser.model)))
    return [rephrasing.of_wordings.canonical_json(), rephraser.canonical_json(), model]


def landed_variants(warehouse: Warehouse, audit_run_id: str) -> list[Variant]:
    """Reads the variants that a run asks, by task, strategy and index."""
    rows = warehouse.read(sql("ask.wordings", "landed_variants"), audit_run_id=audit_run_id)
    return [
        Variant(
            **{
                **row,
                "repetitions": tuple(row["repetitions"]),
                "model_ids": None if row["model_ids"] is None else tuple(row["model_ids"]),
            }
        )
        for row in rows
    ]


def earlier_proposals(warehouse: Warehouse, key: str) -> list[Proposal] | None:
    """Reads the wordings of the newest run with this rephrasing key, with a person's edits; None if there is none."""
    rows = warehouse.read(sql("ask.wordings", "earlier_variants"), key=key, strategy=None)
    return [Proposal(**{name: row[name] for name in row if name != "answer_schema"}) for row in rows] or None


def earlier_schemas(warehouse: Warehouse, key: str) -> dict[Cell, str]:
    """Reads the answer schemas of the newest run with this rephrasing key."""
    rows = warehouse.read(sql("ask.wordings", "earlier_variants"), key=key, strategy=STRUCTURED)
    return {(row["paraphrase_temperature"], row["variant_index"]): row["answer_schema"] for row in rows}


def same_wordings(warehouse: Warehouse, audit_run_id: str, edited: Mapping[str, Sequence[Proposal]]) -> bool:
    """Checks whether a run asks exactly these wordings."""
    landed = {
        (v.task_id, v.own_of, v.paraphrase_temperature, v.variant_index, v.instruction)
        for v in landed_variants(warehouse, audit_run_id)
        if v.template is None and v.is_worded_alone
    }
    wanted = {
        (task_id, p.own_of, p.paraphrase_temperature, p.variant_index, p.instruction)
        for task_id, ps in edited.items()
        for p in ps
    }
    return landed == wanted
