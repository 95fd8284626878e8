"""What is sent is what the card says, put in once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from promptaudit.prompts.messages import left_open, prompt_of, render
from promptaudit.prompts.shown_fields import answer_of
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.samples import Sample

CARD = TaskCard.model_validate(
    {
        "labels": {"yes": "it is", "no": "it is not"},
        "instruction": "Say whether {subject} is meant.",
        "output_format": "Reply with the label alone.",
        "data": {"path": "d.csv"},
    }
)
PLACED = {"role": "user", "content": "{instruction} {labels} {input}"}
SAMPLE = Sample("1", "Text with {instruction} and {braces}.", None, {"subject": "the {input}"})


def test_simple() -> None:
    ((role, content),) = render(prompt_of(CARD, "simple", {}), CARD.instruction, SAMPLE)
    assert role == "user"
    assert content == (
        "Say whether the {input} is meant.\nThe labels are: yes, no.\nReply with the label alone.\n\n"
        "Text with {instruction} and {braces}."
    )


def test_detail_describes_and_one_shot_shows() -> None:
    assert prompt_of(CARD, "detail", {}).block == "The labels are:\n- yes: it is\n- no: it is not"
    shown = prompt_of(CARD, "one_shot", {"yes": "Sure.", "no": "Never."}).block
    assert shown == "The labels are: yes, no.\nExamples:\nSure.\n-> yes\nNever.\n-> no"


INVOICES = TaskCard.model_validate(
    {
        "kind": "extraction",
        "instruction": "Read it.",
        "output_format": "Reply in JSON.",
        "fields": {
            "total": {"rule": "number", "description": "what is to pay, in {euros}"},
            "day": "date",
            "coin": {"rule": "one_of", "values": ["EUR", "USD"]},
            "items": {"rule": "exact", "list": True},
            "note": "token_f1",
        },
        "data": {"path": "d.csv"},
    }
)
GOLD = {"total": "1.234,50", "day": " 5 March 2024 ", "coin": "eur", "items": '["a", "b"]', "note": None}
ANSWER = '{"total": 1234.5, "day": "5 March 2024", "coin": "EUR", "items": ["a", "b"], "note": null}'


def test_fields_are_described_and_shown_in_an_example() -> None:
    assert prompt_of(INVOICES, "simple", {}).block == ""
    assert prompt_of(INVOICES, "detail", {}).block == (
        "The fields are:\n- total (a number): what is to pay, in {euros}\n- day (a date, YYYY-MM-DD)\n"
        "- coin (one of EUR, USD)\n- items (a list, each item a text)\n- note (a text)"
    )
    prompt = prompt_of(INVOICES, "one_shot", {json.dumps(GOLD): "Pay {input}."})
    ((_, content),) = render(prompt, "Read it.", SAMPLE)
    assert content == f"Read it.\nExample:\nPay {{input}}.\n-> {ANSWER}\nReply in JSON.\n\n{SAMPLE.text}"


@pytest.mark.parametrize(
    ("gold", "value"),
    [
        ("1/3", "1/3"),
        ("0.00001", "0.00001"),
        ("5 million", "5 million"),
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_a_number_is_one_where_json_spells_it_so(gold: str, value: object) -> None:
    answer = answer_of(INVOICES, json.dumps({"total": gold}))
    assert json.loads(answer)["total"] == value
    assert answer_of(INVOICES, answer) == answer
    assert answer_of(INVOICES, "no object") == "no object"


def test_without_a_line_of_labels_nothing_but_the_cards_text_is_sent() -> None:
    card = TaskCard.model_validate({**CARD.model_dump(), "labels_line": "none"})
    assert prompt_of(card, "simple", {}).block == ""
    ((_, content),) = render(prompt_of(card, "simple", {}), " Say it.\n", SAMPLE)
    assert content == " Say it.\n Reply with the label alone.\n\nText with {instruction} and {braces}."
    assert (
        prompt_of(card, "one_shot", {"yes": "Sure.", "no": "Never."}).block == "Examples:\nSure.\n-> yes\nNever.\n-> no"
    )
    assert prompt_of(card, "detail", {}).block == prompt_of(CARD, "detail", {}).block
    for line in ("none", {"one_shot": "none"}):
        (field,) = (error["msg"] for error in refused({"labels_line": line, "messages": [PLACED]}))
        assert field == "Value error, labels_line is none, but messages use {labels}"


def test_a_line_of_labels_may_stand_under_one_strategy_alone() -> None:
    card = TaskCard.model_validate({**CARD.model_dump(), "labels_line": {"simple": "none"}})
    assert (prompt_of(card, "simple", {}).block, prompt_of(card, "simple+tried", {}).block) == ("", "")
    assert prompt_of(card, "one_shot", {"yes": "Sure.", "no": "Never."}).block.startswith(
        "The labels are: yes, no.\nExamples:"
    )


def refused(changes: dict[str, object]) -> list[dict[str, Any]]:
    with pytest.raises(ValidationError) as raised:
        TaskCard.model_validate({**CARD.model_dump(), **changes})
    return [dict(error) for error in raised.value.errors()]


def test_messages_may_place_the_labels_and_have_a_system_part() -> None:
    messages = [
        {"role": "system", "content": "{instruction}"},
        {"role": "user", "content": "{input}\n{labels}\n{output_format}"},
    ]
    card = TaskCard.model_validate({**CARD.model_dump(), "messages": messages})
    rendered = render(prompt_of(card, "simple", {}), "Reworded.", SAMPLE, "BLOCK")
    assert rendered == (
        ("system", "Reworded."),
        ("user", "Text with {instruction} and {braces}.\nBLOCK\nReply with the label alone."),
    )


def test_the_template_leaves_the_data_open() -> None:
    ((_, content),) = left_open(prompt_of(CARD, "simple", {}), CARD.instruction, "BLOCK")
    assert content == "Say whether {subject} is meant.\nBLOCK\nReply with the label alone.\n\n{input}"
    json.dumps(content)
