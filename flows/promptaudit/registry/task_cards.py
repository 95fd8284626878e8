"""Defines the cards of tasks: a question put to every sample, its labels, its prompt and its data."""

from __future__ import annotations

import functools
import json
import math
import string
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import re2
from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from promptaudit.registry.base import CODE_SHA256, Card, FunctionName, Name, Names, Rate, Sha256, listed
from promptaudit.registry.errors import nearest
from promptaudit.registry.field_cards import ALL_FIELDS, Fields
from promptaudit.registry.placeholders import placeholders

Kind = Literal["classification", "multiple_choice", "open_ended", "extraction"]
INSTRUCTED: tuple[Kind, ...] = ("classification", "extraction")
"""Kinds whose prompt is an instruction in messages. The prompts of the other kinds are templates."""
WITHOUT_LABELS: tuple[Kind, ...] = ("open_ended", "extraction")
Level = Literal["nominal", "ordinal", "interval"]
ScoringMethod = Literal[
    "label_match",
    "option_letter",
    "option_loglikelihood",
    "option_loglikelihood_per_token",
    "option_loglikelihood_per_character",
    "token_f1",
    "math_equal",
    "math_boxed",
    "exact",
    "contains",
    "regex",
    "number",
]
SCORED_BY: Mapping[str, tuple[ScoringMethod, ...]] = {  # the first is the default
    "classification": ("label_match",),
    "multiple_choice": (
        "option_letter",
        "option_loglikelihood",
        "option_loglikelihood_per_token",
        "option_loglikelihood_per_character",
    ),
    "open_ended": ("token_f1", "math_equal", "math_boxed", "exact", "contains", "regex", "number"),
    "extraction": (),  # `all_fields` and `field:<name>` of each
}


LabelsLine = Literal["names", "none"]


def sound_pattern(text: str) -> str:
    """Accepts a pattern that RE2 can compile and gives it back unchanged; raises ValueError for any other text."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        msg = f"not an RE2 pattern: {reason.decode('utf-8', 'replace') if isinstance(reason, bytes) else reason}"
        raise ValueError(msg) from None
    return text


Pattern = Annotated[str, Field(max_length=1000), AfterValidator(sound_pattern)]


class RegexReader(Card):
    """A reader of the first group of the first match (the whole match without a group), in RE2 syntax."""

    regex: Pattern = Field(description="RE2 pattern")


class JsonFieldReader(Card):
    """A reader of a field of a JSON object in the completion; dots go deeper."""

    json_field: str = Field(min_length=1, max_length=200, description="name of the field, a.b for b inside a")


class PythonReader(Card):
    """A reader of the user's own: a function of (completion, labels) that returns a label or None."""

    python: FunctionName = Field(
        description=(
            "module:function, called with the completion, without its reasoning and the white space around it, and "
            "with the list of labels. It returns the label, or None for no label; where it raises an error, the "
            "completion has no label either. It is called in an empty folder, without the variables that hold keys"
        )
    )
    code_sha256: Sha256 | None = Field(None, description=CODE_SHA256)


ReaderName = Literal["exact", "label", "label_in_text", "first_integer"]
Reader = ReaderName | RegexReader | JsonFieldReader | PythonReader


class Message(Card):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant", "developer"] = Field(description="who speaks")
    content: str = Field(description="text with {placeholders}")


PROTECT_LABELS = (
    "whether a rephrasing must keep the labels that its instruction names; where neither task nor rephraser "
    "says so, rephrasings of `rules` and `model` must keep them, and a person's own, from `fixed` or from a "
    "file of prompts, need not"
)
DEFAULT_MESSAGES = (Message(role="user", content="{instruction} {output_format}\n\n{input}"),)


class Data(Card):
    """The source of samples: a file of the registry or a Hugging Face dataset (extra `datasets`)."""

    path: str | None = Field(None, description="CSV, JSONL, Parquet or XLSX, relative to the registry")
    hub: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?$", description="name of a Hugging Face dataset"
    )
    config: str | None = Field(None, description="hub: its configuration")
    split: str = Field("test", description="hub: its split")
    revision: str | None = Field(None, description="hub: branch, tag or commit")
    id: str | None = Field(
        None,
        description=(
            "column of the sample's id; here and below, a.b stands for b inside a; default: the row's number from 0"
        ),
    )
    input: str = Field("input", description="column of the text put for {input}")
    gold_label: str | None = Field(
        None, description="column of the gold label; for multiple_choice, of the right option's label or text"
    )
    gold_labels: dict[str, str] | None = Field(
        None, description="what the gold column holds, each value with the label that it stands for"
    )
    options: Names | None = Field(
        None,
        description="multiple_choice: the columns of the options, in order; or one column with a JSON list of them",
    )
    references: Names | None = Field(
        None,
        description="open_ended: the columns of the right answers; one may hold a JSON list of them. Without them a judge with "
        "`references: none` rules, or one of pairs",
    )
    cluster: str | None = Field(
        None,
        description=(
            "column of what samples have in common, such as a document or a user. Nights are then compared over these "
            "and not over samples, since samples that share one are not independent"
        ),
    )
    columns: dict[Name, Name] = Field(
        default_factory=dict, description="name that prompts and templates use to the column it stands for"
    )
    rows: int | None = Field(None, ge=1, description="how many rows there are, for data that does not ship")
    characters: dict[Name, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description=(
            "for such data, about how many characters its texts have, by the name that prompts use: `input`, `options` "
            "(each of them) or a column; `plan` estimates costs with them; default: 400, and 40 for an option"
        ),
    )
    published: str | None = Field(
        None,
        max_length=1000,
        description=(
            "where its authors publish the data and how it becomes the file; the message says it where the file is "
            "missing"
        ),
    )

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        if self.path is not None and "\x00" in self.path:
            yield "a path holds no NUL"
        if (self.path is None) == (self.hub is None):
            yield "data needs either path or hub"


def _labels(value: object) -> object:
    if isinstance(value, dict):
        return tuple({"label": label, "description": text} for label, text in value.items())
    if isinstance(value, list | tuple):
        return tuple(item if isinstance(item, dict | TaskLabel) else {"label": item} for item in value)
    return value


class TaskLabel(Card):
    """One label of a closed set."""

    label: str = Field(min_length=1, max_length=1000, description="the label as the model must write it")
    description: str | None = Field(None, description="what the label covers; the strategy `detail` shows it")

    @field_validator("label")
    @classmethod
    def _trimmed(cls, value: str) -> str:
        if value != value.strip():
            msg = f"label {value!r} begins or ends with white space, so no trimmed answer can equal it"
            raise ValueError(msg)
        return value


def _translation(value: object) -> object:
    return {"instruction": value} if isinstance(value, str) else value


class Translation(Card):
    """What is asked, in another language."""

    instruction: str = Field(
        min_length=1, description="the instruction; for multiple_choice and open_ended, the text of the first template"
    )
    output_format: str | None = Field(
        None, description="classification, extraction: how to answer, labels as they are; default: as in the original"
    )


Language = Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]


class TaskCard(Card):
    """A question put to every sample."""

    kind: Kind = Field(
        "classification",
        description="a closed label set, options to choose from, an open answer, or fields of a JSON object",
    )
    level: Level = Field(
        "nominal",
        description="the level at which labels are measured: nominal (names), ordinal (an order) or interval (numbers)",
    )
    labels: Annotated[
        tuple[TaskLabel, ...],
        BeforeValidator(_labels, json_schema_input_type=tuple[str | TaskLabel, ...] | dict[str, str | None]),
    ] = Field(
        (),
        description=(
            "the closed set of labels, in order: a list, or a mapping of label to description. For multiple_choice "
            "they are the letters that name the options in SQL; default: A, B, C, … for the columns of the options"
        ),
    )
    fields: Fields = Field(
        default_factory=dict,
        description=(
            "extraction: the fields that are read from the first JSON object in an answer that has any of them; each "
            "field has its rule, or a mapping with `rule`"
        ),
    )
    instruction: str = Field("", description="classification, extraction: the part of the prompt that is rephrased")
    output_format: str = Field("", description="classification, extraction: how to answer; never rephrased")
    messages: tuple[Message, ...] = Field(
        DEFAULT_MESSAGES, min_length=1, description="classification, extraction: the prompt"
    )
    templates: Name | None = Field(
        None, description="multiple_choice, open_ended: the template card, the prompt variants"
    )
    reader: Reader = Field(
        "exact",
        description=(
            "classification: how a completion is read as a label. `exact`: the completion is the label; `label`: it is "
            "the label but for case, a final full stop, quotes and Markdown, or the label stands alone in a line; "
            "`label_in_text`: it contains exactly one of the labels"
        ),
    )
    scoring: Annotated[
        tuple[ScoringMethod, ...],
        BeforeValidator(listed, json_schema_input_type=ScoringMethod | tuple[ScoringMethod, ...]),
    ] = Field(
        (), description="the rules that score completions, beside the audit's judges; default: the first of the kind"
    )
    token_f1_threshold: Rate | None = Field(
        None, description="token_f1: the least score that counts as right; default: the score itself is averaged"
    )
    pair_classes: Annotated[Names, Field(max_length=3)] = Field(
        (),
        description=(
            "gold labels, at most three, whose samples the report compares pair by pair; default: the two whose samples "
            "are treated least and most alike"
        ),
    )
    refusal_pattern: Pattern | None = Field(
        None,
        description=(
            "RE2 pattern: a completion that could not be read and that matches it is a refusal; default: the usual "
            "words of a refusal"
        ),
    )
    examples: dict[str, str] | None = Field(
        None,
        description=(
            "one_shot: an example input for each label; default: rows of the data that are kept out of the samples"
        ),
    )
    protected: tuple[str, ...] = Field(
        (),
        description=(
            "words that a rephrasing of the instruction or of a template must keep, beside labels and placeholders"
        ),
    )
    protect_labels: bool | None = Field(None, description=PROTECT_LABELS)
    labels_line: LabelsLine | dict[Literal["simple", "one_shot"], LabelsLine] = Field(
        "names",
        description=(
            "whether a line of the prompt names the labels. With `none` the prompt has no text but the card's, its "
            "examples, and the descriptions that the strategy `detail` shows. A mapping chooses for each strategy, as "
            "{simple: none}"
        ),
    )
    translations: dict[
        Language,
        Annotated[Translation, BeforeValidator(_translation, json_schema_input_type=str | Translation)],
    ] = Field(
        default_factory=dict,
        description=(
            "for each language, such as de or pt-BR, the instruction in it; variants of kind `language` use them in "
            "this order"
        ),
    )
    sensitive: bool = Field(
        default=False, description="whether reports leave its inputs and completions out unless they are asked for"
    )
    data: Data = Field(description="where the samples come from")

    @model_validator(mode="before")
    @classmethod
    def _letters(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a card holds
        # options that stand in columns of their own need no labels in the card
        if isinstance(value, dict) and value.get("kind") == "multiple_choice" and not value.get("labels"):
            data = value.get("data")
            columns = data.get("options") if isinstance(data, dict) else getattr(data, "options", None)
            if isinstance(columns, list | tuple) and 1 < len(columns) <= len(string.ascii_uppercase):
                return {**value, "labels": list(string.ascii_uppercase[: len(columns)])}
        return value

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        if self.kind in WITHOUT_LABELS:
            yield from self._refuse("labels")
        else:
            yield from self._has_labels()
        if self.kind in INSTRUCTED:
            yield from self._is_rephrased()
            yield from self._refuse("templates")
        else:
            yield from self._has_templates()
        if self.kind == "extraction":
            yield from self._has_fields()
        else:
            yield from self._refuse("fields")
            yield from self._is_scored()
        yield from self._has_translations()
        yield from self._has_pair_classes()
        if self.token_f1_threshold is not None and "token_f1" not in self.scoring_methods:
            yield "token_f1_threshold is of the scoring method token_f1, which this task does not use"

    def _is_scored(self) -> Iterator[str]:
        for method in self.scoring:
            if method not in SCORED_BY[self.kind]:
                yield f"scoring: '{method}' does not score {self.kind}; what does: {', '.join(SCORED_BY[self.kind])}"

    def _has_translations(self) -> Iterator[str]:
        for tag, translation in self.translations.items():
            if self.kind not in INSTRUCTED and translation.output_format is not None:
                yield f"translations.{tag}.output_format is not of a task of kind {self.kind}"
            if self.kind in INSTRUCTED and set(placeholders(translation.instruction)) != set(
                placeholders(self.instruction)
            ):
                yield f"translations.{tag} must use the placeholders of the instruction, and no other"

    def _has_fields(self) -> Iterator[str]:
        yield from self._refuse("reader", "scoring", "examples", "level", "labels_line")
        for name in ("gold_label", "gold_labels"):
            if getattr(self.data, name) is not None:
                yield f"data.{name} is not of a task of kind extraction: `gold` of a field names its column"
        if not self.fields:
            yield "a task of kind extraction needs fields"
        if ALL_FIELDS in self.fields:
            yield f"fields: no field is called '{ALL_FIELDS}', which is all of them together"
        forms = [composed(name) for name in self.fields]
        for name in self.fields:
            if "{" in name or "}" in name:
                yield f"fields: '{name}' has a brace, as placeholders have"
            if forms.count(composed(name)) > 1:
                yield f"fields: '{name}' stands twice, with accents written in another way"

    def _has_pair_classes(self) -> Iterator[str]:
        for index, name in enumerate(self.pair_classes):
            if name not in self.label_names:
                yield f"pair_classes names '{name}', which is no label{nearest(name, self.label_names)}"
            elif name in self.pair_classes[:index]:
                yield f"pair_classes names '{name}' twice"

    def _refuse(self, *fields: str) -> Iterator[str]:
        for field in fields:
            if getattr(self, field) != type(self).model_fields[field].get_default(call_default_factory=True):
                yield f"{field} is not of a task of kind {self.kind}"

    def _has_labels(self) -> Iterator[str]:
        names = self.label_names
        if len(names) < 2:  # noqa: PLR2004 - one label is no question
            yield f"labels needs at least two, found {len(names)}"
        forms = [composed(name) for name in names]
        twice = sorted({name for name, form in zip(names, forms, strict=True) if forms.count(form) > 1})
        if twice:
            yield f"label {twice[0]!r} stands twice"
        words = [name for name in names if not is_number(name)]
        if self.level == "interval" and words:
            yield f"label {words[0]!r} of an interval task is no number"

    def _is_rephrased(self) -> Iterator[str]:
        if not self.instruction:
            yield f"a task of kind {self.kind} needs an instruction"
        if self.data.options is not None or self.data.references is not None:
            yield "data: options and references are of tasks of kind multiple_choice and open_ended"
        if not any("input" in placeholders(message.content) for message in self.messages):
            yield "messages never use {input}"
        if not any("instruction" in placeholders(message.content) for message in self.messages):
            yield "messages never use {instruction}, so nothing can be rephrased"
        is_placed = any("labels" in placeholders(message.content) for message in self.messages)
        if is_placed and not (self.names_labels("simple") and self.names_labels("one_shot")):
            yield "labels_line is none, but messages use {labels}"
        if self.examples is not None and set(self.examples) != set(self.label_names):
            yield f"examples needs one input a label; differs at {sorted(set(self.examples) ^ set(self.label_names))}"

    def _has_templates(self) -> Iterator[str]:
        yield from self._refuse(
            "instruction",
            "output_format",
            "messages",
            "reader",
            "examples",
            "level",
            "protect_labels",
            "labels_line",
        )
        if self.templates is None:
            yield f"a task of kind {self.kind} needs templates, the id of a template card"
        if self.kind == "multiple_choice" and (self.data.options is None or self.data.references is not None):
            yield f"data of a task of kind {self.kind} needs options, and no references"
        if self.kind == "open_ended" and self.data.options is not None:
            yield f"data of a task of kind {self.kind} has no options"

    def canonical_json(self) -> str:
        """Writes the card as one line of JSON, as every card does; the fields of extraction stay in the card's order.

        Prompts show the fields in that order.
        """
        if not self.fields:
            return super().canonical_json()
        card = self.model_dump(mode="json", exclude_defaults=True)
        parts = (
            f"{json.dumps(name)}: {json.dumps(card[name], sort_keys=name != 'fields', ensure_ascii=False)}"
            for name in sorted(card)
        )
        return f"{{{', '.join(parts)}}}"

    @property
    def scoring_methods(self) -> tuple[str, ...]:
        """Lists the rules that score this task's completions. The first one stands for the task."""
        if self.kind == "extraction":
            return (ALL_FIELDS, *(f"field:{name}" for name in self.fields))
        return self.scoring or SCORED_BY[self.kind][:1]

    @property
    def gold_columns(self) -> dict[str, str]:
        """Maps each field to the column of its gold value."""
        return {name: field.gold or name for name, field in self.fields.items()}

    def names_labels(self, strategy: str) -> bool:
        """Checks whether a line of the prompt names the labels under this strategy.

        It is meant for strategies that neither describe the labels nor send a schema.
        """
        if isinstance(self.labels_line, str):
            return self.labels_line == "names" and bool(self.labels)
        return all(line == "names" for name, line in self.labels_line.items() if name == strategy)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Lists the names of the labels, in the card's order."""
        return tuple(item.label for item in self.labels)

    @functools.cached_property
    def by_composed(self) -> Mapping[str, str]:
        """Maps the composed form of each label to the label as the card writes it.

        "não" is one label for a person, whether ã is one character or two.
        """
        return {composed(name): name for name in self.label_names}


def composed(text: str) -> str:
    """Converts a text to Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", text)


def is_number(text: str) -> bool:
    """Checks whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
