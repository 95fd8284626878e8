"""Builds what is sent: the messages of one prompt variant for one sample; each placeholder is filled once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from promptaudit.prompts.shown_fields import answer_of, lines_of_fields
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.placeholders import placeholders, substitute
from promptaudit.registry.samples import Sample

Messages = tuple[tuple[str, str], ...]


ONE_SHOT = "one_shot"  # the strategy that shows solved examples
STRUCTURED = "structured"  # the strategy whose labels go as a JSON schema, beside the messages
TRIED = "+tried"  # ends the name of a strategy in the changed arm of a trial
FILLED = "+filler"  # ends it in the arm whose instructions end with a filler text


def dressing(strategy: str) -> str:
    """Reads from a strategy's name how it dresses the instruction: the name without the endings of a trial's arms."""
    return strategy.removesuffix(TRIED).removesuffix(FILLED)


def dressed(card: TaskCard, strategy: str) -> TaskCard:
    """Copies the card as a strategy sends it: under `structured` a schema replaces the output format."""
    return card.model_copy(update={"output_format": ""}) if dressing(strategy) == STRUCTURED else card


def shows_labels(card: TaskCard, strategy: str) -> bool:
    """Checks whether a strategy's prompt names the labels."""
    name = dressing(strategy)
    is_placed = any("labels" in placeholders(message.content) for message in card.messages)
    return name != STRUCTURED and (name in ("detail", ONE_SHOT) or is_placed or card.names_labels(name))


@dataclass(frozen=True, slots=True)
class LabelForm:
    """Sets how labels are written: what stands between them, around a described one, and before an example's label."""

    between: str = ", "
    bullet: str = "- "
    colon: str = ": "
    arrow: str = "\n-> "


@dataclass(frozen=True, kw_only=True)
class ClassificationPrompt:
    """Holds the parts of an instruction's messages: the card as the strategy sends it, examples and their answers.

    Answers are labels, of extraction JSON objects of its fields.
    """

    card: TaskCard
    strategy: str
    examples: tuple[tuple[str, str], ...]
    form: LabelForm = LabelForm()

    @functools.cached_property
    def block(self) -> str:
        """Writes the labels as its strategy shows them: their names, a description each, examples, or "" for a schema.

        Fields of extraction are described or shown in an example; under other strategies the card has to name them
        itself.
        """
        card, form, strategy = self.card, self.form, dressing(self.strategy)
        plain = self.named if card.names_labels(strategy) else ""
        if strategy == STRUCTURED:
            return ""
        if strategy == "detail" and card.fields:
            return "\n".join(["The fields are:", *lines_of_fields(card, form.bullet, form.colon)])
        if strategy == "detail":
            lines = [
                f"{form.bullet}{item.label}{form.colon}{item.description}"
                if item.description
                else f"{form.bullet}{item.label}"
                for item in card.labels
            ]
            return "The labels are:\n" + "\n".join(lines)
        if strategy == ONE_SHOT:
            lines = [f"{text}{form.arrow}{label}" for text, label in self.examples]
            return "\n".join([*([plain] if plain else []), "Example:" if card.fields else "Examples:", *lines])
        return plain

    @property
    def named(self) -> str:
        """Writes the line that names the labels."""
        return f"The labels are: {self.form.between.join(self.card.label_names)}."


def prompt_of(card: TaskCard, strategy: str, examples: Mapping[str, str]) -> ClassificationPrompt:
    """Builds the original prompt of an instruction under a strategy; `examples` maps label or gold values to input."""
    pairs = tuple((examples[name], name) for name in card.label_names if name in examples)
    if card.fields:
        pairs = tuple((text, answer_of(card, gold)) for gold, text in examples.items())
    return ClassificationPrompt(card=dressed(card, strategy), strategy=strategy, examples=pairs)


def render(prompt: ClassificationPrompt, instruction: str, sample: Sample, block: str | None = None) -> Messages:
    """Writes the messages for a sample. If the card's messages have no {labels}, the block follows the instruction.

    `block` replaces the prompt's own.
    """
    card, block = prompt.card, prompt.block if block is None else block
    data = {**sample.fields, "input": sample.text}
    asked, fixed = substitute(instruction, data), substitute(card.output_format, data)
    has_place = any("labels" in placeholders(message.content) for message in card.messages)
    if block and not has_place:
        asked = f"{asked}\n{block}\n"
    # a schema shows the labels; a message with a place for them still needs their names
    values = {**data, "instruction": asked, "output_format": fixed, "labels": block or prompt.named}
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


def _tidy(text: str, block: str, asked: str, fixed: str) -> str:
    # no blank left over if a message joins the block's last line and the output format by a space
    joint = f"{asked} {fixed}"
    return text.replace(joint, f"{asked}{fixed}", 1) if block and asked.endswith("\n") else text


def left_open(prompt: ClassificationPrompt, instruction: str, block: str | None = None) -> Messages:
    """Writes the messages with the data's placeholders left open, for a reader."""
    card = prompt.card
    names = {name for message in card.messages for name in placeholders(message.content)}
    names |= set(placeholders(instruction)) | set(placeholders(card.output_format))
    sample = Sample("", "{input}", None, {name: f"{{{name}}}" for name in names})
    return render(prompt, instruction, sample, block)
