"""Builds what is sent: the messages of one prompt variant for one sample, placeholders put in once."""

from __future__ import annotations

from collections.abc import Mapping

from models_registry.cards import TaskCard
from models_registry.placeholders import placeholders, substitute
from models_registry.samples import Sample

Messages = tuple[tuple[str, str], ...]


STRUCTURED = "structured"  # the strategy whose labels go as a JSON schema, beside the messages
TRIED = "+tried"  # ends the name of a strategy in the changed arm of a trial
FILLED = "+filler"  # in the arm whose instructions end with a text that says nothing


def dressing(strategy: str) -> str:
    """Returns how a strategy dresses the instruction: as its name says, in every arm of a trial."""
    return strategy.removesuffix(TRIED).removesuffix(FILLED)


def dressed(card: TaskCard, strategy: str) -> TaskCard:
    """Returns the card as a strategy sends it: a schema stands in place of the output format."""
    return card.model_copy(update={"output_format": ""}) if dressing(strategy) == STRUCTURED else card


def label_block(card: TaskCard, strategy: str, examples: Mapping[str, str]) -> str:
    """Returns how a strategy shows the labels: their names, a description each, an example each, or not in the messages."""
    names, strategy = card.label_names, dressing(strategy)
    plain = _named(card) if card.names_labels(strategy) else ""
    if strategy == STRUCTURED:
        return ""
    if strategy == "detail":
        lines = [
            f"- {item.label}: {item.description}" if item.description else f"- {item.label}" for item in card.labels
        ]
        return "The labels are:\n" + "\n".join(lines)
    if strategy == "one_shot":
        lines = [f"{examples[name]}\n-> {name}" for name in names]
        return "\n".join([*([plain] if plain else []), "Examples:", *lines])
    return plain


def render(card: TaskCard, instruction: str, block: str, sample: Sample) -> Messages:
    """Returns the messages for a sample. Where the card's messages have no {labels}, the block follows the instruction."""
    data = {**sample.fields, "input": sample.text}
    asked, fixed = substitute(instruction, data), substitute(card.output_format, data)
    has_place = any("labels" in placeholders(message.content) for message in card.messages)
    if block and not has_place:
        asked = f"{asked}\n{block}\n"
    # a schema shows the labels; a message with a place for them still needs their names
    values = {**data, "instruction": asked, "output_format": fixed, "labels": block or _named(card)}
    return tuple(
        # nothing stands where the output format would, nor the blank before it
        (
            role,
            _tidy(
                substitute(text if block or fixed else text.replace(" {output_format}", ""), values),
                block,
                asked,
                fixed,
            ),
        )
        for role, text in ((message.role, message.content) for message in card.messages)
    )


def _named(card: TaskCard) -> str:
    return f"The labels are: {', '.join(card.label_names)}."


def _tidy(text: str, block: str, asked: str, fixed: str) -> str:
    """No blank left over where a message joins the block's last line and the output format by a space."""
    joint = f"{asked} {fixed}"
    return text.replace(joint, f"{asked}{fixed}", 1) if block and asked.endswith("\n") else text


def template(card: TaskCard, instruction: str, block: str) -> Messages:
    """Returns the messages with the data's placeholders left open, for a reader."""
    names = {name for message in card.messages for name in placeholders(message.content)}
    names |= set(placeholders(instruction)) | set(placeholders(card.output_format))
    left_open = Sample("", "{input}", None, {name: f"{{{name}}}" for name in names})
    return render(card, instruction, block, left_open)
