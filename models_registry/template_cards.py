"""Defines the cards of templates: whole prompts of a question, the prompt variants of multiple-choice and open tasks."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from models_registry.base import Card
from models_registry.errors import nearest
from models_registry.placeholders import placeholders

ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
SIGNS = {
    "upper": tuple(string.ascii_uppercase),
    "lower": tuple(string.ascii_lowercase),
    "numbers": tuple(str(number) for number in range(1, 27)),
    "roman": ROMAN,
}


KNOWN = {
    "option": ("enumerator", "option"),
    "answer": ("enumerator", "option"),
    "example": ("question", "answer"),
}


class Example(Card):
    """A solved question that a template shows before the one it asks."""

    question: str = Field(min_length=1, description="put for {question}")
    answer: str = Field(min_length=1, description="put for {answer}, as the template would have it written")


class Template(Card):
    """A whole prompt, with {question} and, where there are options, {options}; other columns of the data by name."""

    text: str = Field(min_length=1, description="the prompt: {question}, {options}, {examples}, columns of the data")
    system: str | None = Field(None, min_length=1, description="a system message before it, without placeholders")
    enumerators: Literal["upper", "lower", "numbers", "roman"] | tuple[str, ...] = Field(
        "upper", description="the signs of the options, in order: A, B; a, b; 1, 2; i, ii; or a list of one's own"
    )
    option: str = Field("{enumerator}. {option}", description="how an option is written")
    between: str = Field("\n", description="what stands between two options")
    answer: str = Field(
        "{enumerator}",
        description="how an answer is written, {enumerator} or {option}: what option_loglikelihood weighs",
    )
    examples: tuple[Example, ...] = Field((), description="solved questions, put for {examples}")
    example: str = Field("Question: {question}\nAnswer: {answer}", description="how a solved question is written")

    def faults(self) -> Iterator[str]:
        """Gives what fields demand of each other and do not get."""
        used = placeholders(self.text)
        if "question" not in used:
            yield "text never uses {question}"
        if ("examples" in used) != bool(self.examples):
            yield "text uses {examples} where a template has examples, and only there"
        if not {"question", "answer"} <= set(placeholders(self.example)):
            yield "example must use {question} and {answer}"
        if not {"enumerator", "option"} <= set(placeholders(self.option)):
            yield "option must use {enumerator} and {option}"
        if not {"enumerator", "option"} & set(placeholders(self.answer)):
            yield "answer must use {enumerator} or {option}"
        yield from self._uses_what_it_knows()
        signs = self.signs
        if len({sign.strip().casefold() for sign in signs}) < len(signs) or any(not sign.strip() for sign in signs):
            yield "enumerators must differ, and none be blank"

    def _uses_what_it_knows(self) -> Iterator[str]:
        if self.system is not None and placeholders(self.system):
            yield f"system has no placeholders, found {{{placeholders(self.system)[0]}}}"
        for field, known in KNOWN.items():
            for name in placeholders(getattr(self, field)):
                if name not in known:
                    yield f"{field} uses {{{name}}}{nearest(name, known)}"

    @property
    def signs(self) -> tuple[str, ...]:
        """Returns the enumerators, as many as there are."""
        return SIGNS[self.enumerators] if isinstance(self.enumerators, str) else self.enumerators

    @property
    def has_options(self) -> bool:
        """Returns whether it is a template of a multiple-choice question."""
        return "options" in placeholders(self.text)


def _templates(value: object) -> object:
    return [{"text": item} if isinstance(item, str) else item for item in value] if isinstance(value, list) else value


class TemplateCard(Card):
    """The templates of a kind of question; the first is the original."""

    kind: Literal["multiple_choice", "open_ended"] = Field(description="which tasks it is for")
    templates: Annotated[
        tuple[Template, ...],
        Field(min_length=1),
        BeforeValidator(_templates, json_schema_input_type=Annotated[tuple[str | Template, ...], Field(min_length=1)]),
    ] = Field(description="whole prompts: a text each, or its fields")

    def faults(self) -> Iterator[str]:
        """Gives what fields demand of each other and do not get."""
        for number, template in enumerate(self.templates, start=1):
            if template.has_options != (self.kind == "multiple_choice"):
                need = (
                    "never uses {options}" if self.kind == "multiple_choice" else "uses {options}, but there are none"
                )
                yield f"template {number} {need}"
        texts = [template.canonical_json() for template in self.templates]
        twice = next((number for number, text in enumerate(texts, 1) if text in texts[: number - 1]), None)
        if twice is not None:
            yield f"template {twice} stands twice"
