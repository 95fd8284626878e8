"""Defines the cards of templates: whole prompts of a question, which are the variants of choice and open tasks."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from promptaudit.registry.base import Card, Name
from promptaudit.registry.errors import nearest
from promptaudit.registry.placeholders import placeholders, renamed

ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
SIGNS = {
    "upper": tuple(string.ascii_uppercase),
    "lower": tuple(string.ascii_lowercase),
    "numbers": tuple(str(number) for number in range(1, 27)),
    "roman": ROMAN,
}
OF_OPTIONS = tuple(
    f"{ordinal}_option"
    for ordinal in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
)
"""Placeholders that each stand for one option, without its sign."""
# the sign that stands before an option: the A of "A. ", "(A) " or "A = "
_SIGN = re.compile(r"([A-Za-z0-9]+) ?[^A-Za-z0-9\s]{0,2}\s?\Z")

KNOWN = {
    "option": ("enumerator", "option"),
    "answer": ("enumerator", "option"),
    "example": ("question", "answer"),
}


class Example(Card):
    """A solved question that a template shows before the one it asks."""

    question: str = Field(min_length=1, description="the text put for {question}")
    answer: str = Field(min_length=1, description="the text put for {answer}, written as the template asks for it")


class Template(Card):
    """A whole prompt, with {question} and, where there are options, {options} or each of them; columns of the data by name."""

    text: str = Field(
        min_length=1,
        description="the prompt: {question}, {options} or {first_option}, {second_option}, ..., {examples}, columns of the data",
    )
    system: str | None = Field(
        None, min_length=1, description="a system message before the prompt, without placeholders"
    )
    enumerators: Literal["upper", "lower", "numbers", "roman"] | tuple[str, ...] = Field(
        "upper", description="the signs of the options, in order: A, B; a, b; 1, 2; i, ii; or a list of one's own"
    )
    option: str = Field("{enumerator}. {option}", description="how an option is written")
    between: str = Field("\n", description="what stands between two options")
    answer: str = Field(
        "{enumerator}",
        description="how an answer is written, {enumerator} or {option}: what option_loglikelihood weighs",
    )
    examples: tuple[Example, ...] = Field(
        (), description="solved questions, put for {examples}; before the text where it has no {examples}"
    )
    example: str = Field("Question: {question}\nAnswer: {answer}", description="how a solved question is written")

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        used = placeholders(self.text)
        if "question" not in used:
            yield "text never uses {question}"
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
        yield from self._has_its_signs()

    def _has_its_signs(self) -> Iterator[str]:
        # finds options that stand after other signs than answers are read by
        found = {name: _SIGN.search(self.text[: self.text.index(f"{{{name}}}")]) for name in self.named_options}
        written = {OF_OPTIONS.index(name): sign[1] for name, sign in found.items() if sign is not None}
        if len(written) < len(found) or not found:
            return
        for name, signs in SIGNS.items():
            if all(signs[place : place + 1] == (sign,) for place, sign in written.items()) and signs != self.signs:
                yield f"'{written[min(written)]}' stands before {{{OF_OPTIONS[min(written)]}}}; `enumerators: {name}` reads it"

    def _uses_what_it_knows(self) -> Iterator[str]:
        if self.system is not None and placeholders(self.system):
            yield f"system has no placeholders, found {{{placeholders(self.system)[0]}}}"
        for field, known in KNOWN.items():
            for name in placeholders(getattr(self, field)):
                if name not in known:
                    yield f"{field} uses {{{name}}}{nearest(name, known)}"

    @property
    def signs(self) -> tuple[str, ...]:
        """Lists the enumerators, as many as there are."""
        return SIGNS[self.enumerators] if isinstance(self.enumerators, str) else self.enumerators

    @property
    def named_options(self) -> tuple[str, ...]:
        """Lists the placeholders of single options that the template uses, the first option first."""
        return tuple(name for name in OF_OPTIONS if name in placeholders(self.text))

    @property
    def has_options(self) -> bool:
        """Checks whether all options stand in one place, so that their form can vary."""
        return "options" in placeholders(self.text)


def _templates(value: Any) -> Any:  # noqa: ANN401 - as it is written
    return [{"text": item} if isinstance(item, str) else item for item in value] if isinstance(value, list) else value


def _renamed(template: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - as it is written
    text = template.get("text") if isinstance(template, dict) else None
    return {**template, "text": renamed(text, names)} if isinstance(text, str) else template


class TemplateCard(Card):
    """The templates of a kind of question; the first is the original."""

    kind: Literal["multiple_choice", "open_ended"] = Field(description="which tasks it is for")
    placeholders: dict[Name, Name] = Field(
        default_factory=dict,
        description="for a name of the templates' own, the placeholder that it stands for, such as {problem: question}",
    )
    templates: Annotated[
        tuple[Template, ...],
        Field(min_length=1),
        BeforeValidator(_templates, json_schema_input_type=Annotated[tuple[str | Template, ...], Field(min_length=1)]),
    ] = Field(description="whole prompts, each a text or a mapping of its fields")

    @model_validator(mode="before")
    @classmethod
    def _renames(cls, card: object) -> object:
        # each text gets promptaudit's own names for its placeholders
        names = card.get("placeholders") if isinstance(card, dict) else None
        if not isinstance(card, dict) or not isinstance(names, dict) or not isinstance(card.get("templates"), list):
            return card
        names = {str(name): str(other) for name, other in names.items()}
        return {**card, "templates": [_renamed(template, names) for template in _templates(card["templates"])]}

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        for number, template in enumerate(self.templates, start=1):
            if self.kind == "multiple_choice" and not template.has_options and len(template.named_options) < 2:  # noqa: PLR2004
                yield f"template {number} never uses {{options}}, nor {{first_option}}, {{second_option}} and so on"
            if self.kind == "open_ended" and template.has_options:
                yield f"template {number} uses {{options}}, but there are none"
        texts = [template.canonical_json() for template in self.templates]
        twice = next((number for number, text in enumerate(texts, 1) if text in texts[: number - 1]), None)
        if twice is not None:
            yield f"template {twice} stands twice"
