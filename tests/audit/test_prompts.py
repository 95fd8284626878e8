"""What is sent is what the card says, put in once."""

from __future__ import annotations

import json

from flows.audit.prompts import label_block, render, template
from models_registry.cards import TaskCard
from models_registry.samples import Sample

CARD = TaskCard.model_validate(
    {
        "labels": {"yes": "it is", "no": "it is not"},
        "instruction": "Say whether {subject} is meant.",
        "output_format": "Reply with the label alone.",
        "data": {"path": "d.csv"},
    }
)
SAMPLE = Sample("1", "Text with {instruction} and {braces}.", None, {"subject": "the {input}"})


def test_simple() -> None:
    block = label_block(CARD, "simple", {})
    ((role, content),) = render(CARD, CARD.instruction, block, SAMPLE)
    assert role == "user"
    assert content == (
        "Say whether the {input} is meant.\nThe labels are: yes, no.\nReply with the label alone.\n\n"
        "Text with {instruction} and {braces}."
    )


def test_detail_describes_and_one_shot_shows() -> None:
    assert label_block(CARD, "detail", {}) == "The labels are:\n- yes: it is\n- no: it is not"
    shown = label_block(CARD, "one_shot", {"yes": "Sure.", "no": "Never."})
    assert shown == "The labels are: yes, no.\nExamples:\nSure.\n-> yes\nNever.\n-> no"


def test_messages_may_place_the_labels_and_have_a_system_part() -> None:
    messages = [
        {"role": "system", "content": "{instruction}"},
        {"role": "user", "content": "{input}\n{labels}\n{output_format}"},
    ]
    card = TaskCard.model_validate({**CARD.model_dump(), "messages": messages})
    rendered = render(card, "Reworded.", "BLOCK", SAMPLE)
    assert rendered == (
        ("system", "Reworded."),
        ("user", "Text with {instruction} and {braces}.\nBLOCK\nReply with the label alone."),
    )


def test_the_template_leaves_the_data_open() -> None:
    ((_, content),) = template(CARD, CARD.instruction, "BLOCK")
    assert content == "Say whether {subject} is meant.\nBLOCK\nReply with the label alone.\n\n{input}"
    json.dumps(content)
