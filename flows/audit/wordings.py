"""The wordings of a task's instruction, before they are prompt variants of a run."""

from __future__ import annotations

from dataclasses import dataclass

from flows.audit.design import Design
from flows.rephrasers.protected_spans import protected_words
from flows.system.keys import as_json, content_id, sent_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A wording of one task's instruction; the original is variant 0, refused ones count down from -1."""

    paraphrase_temperature: float | None
    variant_index: int
    instruction: str
    is_edited: bool = False
    refused_because: str | None = None


def rephrasing_key(design: Design, task_id: str) -> str:
    """What decides a task's variants: the instruction, what must be kept, the rephraser and how many are wanted."""
    rephrasing = design.audit.rephrasing
    card = design.tasks[task_id]
    decides: list[str | None] = [task_id, card.instruction, as_json(protected_words(card))]
    if rephrasing is not None:
        rephraser = design.registry.rephraser(rephrasing.rephraser)
        asked = None if rephraser.model is None else as_json(sent_by(design.registry.model(rephraser.model)))
        decides += [rephrasing.canonical_json(), rephraser.canonical_json(), asked]
    return content_id("rephrasing", *decides)
