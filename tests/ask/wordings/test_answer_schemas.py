"""Strategy `structured`: the labels go as a schema, and variants rename, permute and reword it."""

from __future__ import annotations

import asyncio
import json

from promptaudit.ask.wordings.answer_schemas import reworded_schemas
from promptaudit.ask.wordings.variants import Proposal
from promptaudit.prompts.answer_schema import FIELDS, field_of, original_schema
from promptaudit.prompts.messages import STRUCTURED, prompt_of, render
from promptaudit.prompts.rephrasers.by_rules import RulesRephraser
from promptaudit.registry.cards import RephraserCard, TaskCard
from promptaudit.registry.samples import Sample

CARD = TaskCard.model_validate(
    {
        "labels": {"number": "Questions about how many or how much.", "place": "Questions about where something is."},
        "instruction": "Classify the question.",
        "output_format": "Reply with the label alone.",
        "data": {"path": "d.csv"},
    }
)
PROPOSALS = [
    Proposal(paraphrase_temperature=None, variant_index=0, instruction="Classify the question."),
    *(Proposal(paraphrase_temperature=None, variant_index=n, instruction=f"Sort it {n}.") for n in range(1, 12)),
]


def made(proposals: list[Proposal] = PROPOSALS) -> dict[tuple[float | None, int], str]:
    rephraser = RulesRephraser(RephraserCard(kind="rules"))
    return asyncio.run(reworded_schemas(CARD, "t", proposals, rephraser, is_by_rules=True))


def test_the_original_is_the_card_as_written() -> None:
    assert json.loads(original_schema(CARD)) == {
        "type": "object",
        "properties": {
            "label": {
                "type": "string",
                "enum": ["number", "place"],
                "description": "One of:\n- number: Questions about how many or how much.\n"
                "- place: Questions about where something is.",
            }
        },
        "required": ["label"],
        "additionalProperties": False,
    }
    assert made()[None, 0] == original_schema(CARD)


def test_a_schema_of_fields_has_their_types_lists_and_descriptions() -> None:
    fields = {
        "total": {"rule": "number", "description": "what is to pay"},
        "days": {"rule": "date", "list": True},
        "coins": {"rule": "one_of", "values": ["EUR", "USD"], "list": True, "description": "in order"},
    }
    card = TaskCard.model_validate(
        {"kind": "extraction", "instruction": "Read it.", "fields": fields, "data": {"path": "d.csv"}}
    )
    assert json.loads(original_schema(card))["properties"] == {
        "total": {"type": ["number", "null"], "description": "what is to pay"},
        "days": {"type": ["array", "null"], "items": {"type": "string"}, "description": "a date, YYYY-MM-DD"},
        "coins": {
            "type": ["array", "null"],
            "items": {"type": "string", "enum": ["EUR", "USD"]},
            "description": "in order",
        },
    }


def test_variants_rename_the_field_permute_the_labels_and_reword_the_descriptions() -> None:
    schemas = [json.loads(schema) for schema in made().values()]
    fields = [schema["required"][0] for schema in schemas]
    assert fields[:9] == [*FIELDS, FIELDS[0]]
    asked = [schema["properties"][field] for schema, field in zip(schemas, fields, strict=True)]
    assert {tuple(one["enum"]) for one in asked} == {("number", "place"), ("place", "number")}
    assert len({tuple(sorted(one["description"].splitlines())) for one in asked}) > 2
    for one in asked:
        assert [line.split(":")[0].removeprefix("- ") for line in one["description"].splitlines()[1:]] == one["enum"]


def test_schemas_are_the_same_each_time_and_keep_their_index() -> None:
    assert made() == made()
    some = made([PROPOSALS[0], PROPOSALS[3]])
    assert field_of(some[None, 3]) == FIELDS[3]
    assert (
        json.loads(some[None, 3])["properties"][FIELDS[3]]["enum"]
        == json.loads(made()[None, 3])["properties"][FIELDS[3]]["enum"]
    )


def test_a_refused_wording_has_no_schema() -> None:
    assert (None, -1) not in made(
        [*PROPOSALS, Proposal(paraphrase_temperature=None, variant_index=-1, instruction="no", refused_because="empty")]
    )


def test_blanks_and_a_place_for_labels_are_as_the_card_has_them() -> None:
    messages = [
        {"role": "system", "content": "{labels}"},
        {"role": "user", "content": "{instruction} Text: {input} {output_format}"},
    ]
    card = TaskCard.model_validate(CARD.model_dump() | {"messages": messages})
    sent = render(prompt_of(card, STRUCTURED, {}), "Classify.", Sample("s", "foo", None, {}))
    assert sent == (("system", "The labels are: number, place."), ("user", "Classify. Text: foo"))
    plain = TaskCard.model_validate(CARD.model_dump() | {"messages": messages, "output_format": ""})
    sent = render(prompt_of(plain, "simple", {}), "Classify.", Sample("s", "foo", None, {}))
    assert sent[1] == ("user", "Classify. Text: foo ")


def test_the_messages_hold_neither_labels_nor_output_format() -> None:
    messages = render(prompt_of(CARD, STRUCTURED, {}), CARD.instruction, Sample("s", "How many?", None, {}))
    assert messages == (("user", "Classify the question.\n\nHow many?"),)


def test_fields_keep_their_names_and_stand_in_other_orders() -> None:
    fields = {"total": "number", "day": "date", "coin": {"rule": "one_of", "values": ["EUR", "USD"]}, "vendor": "exact"}
    card = TaskCard.model_validate(
        {"kind": "extraction", "fields": fields, "instruction": "Extract it.", "data": {"path": "d.csv"}}
    )
    proposals = [Proposal(paraphrase_temperature=None, variant_index=n, instruction=str(n)) for n in range(6)]
    schemas = asyncio.run(reworded_schemas(card, "t", proposals, None, is_by_rules=True))
    original = json.loads(schemas[None, 0])
    assert original["required"] == list(fields)
    assert original["properties"] == {
        "total": {"type": ["number", "null"]},
        "day": {"type": ["string", "null"], "description": "a date, YYYY-MM-DD"},
        "coin": {"type": ["string", "null"], "enum": ["EUR", "USD", None]},
        "vendor": {"type": ["string", "null"]},
    }
    assert {frozenset(json.loads(schema)["properties"]) for schema in schemas.values()} == {frozenset(fields)}
    assert len(set(schemas.values())) > 3
