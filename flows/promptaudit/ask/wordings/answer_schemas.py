"""Rewords the JSON schemas that say how to answer: strategy `structured`, as in figure 1 of Errica et al. 2025.

A variant renames the field, permutes the labels and rewords their descriptions, beside the instruction's own rewording;
variant 0 is the card as it is written. Fields of extraction keep their names and are permuted.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.ask.wordings.variants import Cell, Proposal
from promptaudit.prompts.answer_schema import FIELDS, original_schema, schema_of, schema_of_fields
from promptaudit.prompts.rephrasers import Rephraser, Wording
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.tables import escape
from promptaudit.system.keys import content_id

GENTLE = (
    0.3  # the paraphrase temperature at which rules swap words; above it they add sentences, which describe nothing
)
LONGEST = 1.4  # times the description: a longer text has been framed as a request


async def reworded_schemas(
    card: TaskCard, task_id: str, proposals: Sequence[Proposal], rephraser: Rephraser | None, *, is_by_rules: bool
) -> dict[Cell, str]:
    """Makes a schema for each wording, by paraphrase temperature and index; without a rephraser descriptions stay."""
    wanted = [proposal for proposal in proposals if proposal.refused_because is None]
    rewordings: dict[tuple[float | None, str], list[str]] = {}
    for temperature in dict.fromkeys(p.paraphrase_temperature for p in wanted if p.variant_index):
        n = sum(p.paraphrase_temperature == temperature and p.variant_index > 0 for p in wanted)
        for item in card.labels:
            texts: Sequence[str] = ()
            if item.description and rephraser is not None:
                wording = Wording(task_id, item.description, card.label_names)
                texts = await rephraser.rephrase(wording, n, GENTLE if is_by_rules else temperature, 0)
                longest = LONGEST * len(item.description) if is_by_rules else float("inf")
                texts = [escape(" ".join(text.split()))[0] for text in texts if text.strip() and len(text) <= longest]
            rewordings[temperature, item.label] = list(texts)
    schemas = {}
    for proposal in wanted:
        index, temperature = proposal.variant_index, proposal.paraphrase_temperature
        if index == 0:
            schemas[temperature, index] = original_schema(card)
            continue
        if card.fields:
            schemas[temperature, index] = schema_of_fields(card, _shuffled(tuple(card.fields), task_id, index))
            continue
        labels = _shuffled(card.label_names, task_id, index)
        described = {
            item.label: _nth(rewordings[temperature, item.label], index, item.description) for item in card.labels
        }
        schemas[temperature, index] = schema_of(FIELDS[index % len(FIELDS)], labels, described)
    return schemas


def _shuffled(labels: Sequence[str], task_id: str, index: int) -> list[str]:
    return sorted(labels, key=lambda label: content_id("order", task_id, str(index), label))


def _nth(texts: Sequence[str], index: int, otherwise: str | None) -> str | None:
    return texts[index % len(texts)] if texts else otherwise
