"""Cards of tasks: a question put to every sample, its labels, its prompt and its data."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

import re2
from pydantic import BeforeValidator, Field, field_validator, model_validator

from models_registry.base import Card
from models_registry.placeholders import placeholders

Level = Literal["nominal", "ordinal", "interval"]


class RegexReader(Card):
    """The first group of the first match (the whole match without a group), in RE2 syntax."""

    regex: str = Field(max_length=1000, description="RE2 pattern")

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str) -> str:
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(value, options)
        except re2.error as error:
            msg = f"not an RE2 pattern: {error}"
            raise ValueError(msg) from None
        return value


class JsonFieldReader(Card):
    """A field of the JSON object that the completion is; dots go deeper."""

    json_field: str = Field(min_length=1, max_length=200, description="name of the field, a.b for b inside a")


Reader = Literal["exact", "first_integer", "label_in_text"] | RegexReader | JsonFieldReader


class Message(Card):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant", "developer"] = Field(description="who speaks")
    content: str = Field(description="text with {placeholders}")


DEFAULT_MESSAGES = (Message(role="user", content="{instruction} {output_format}\n\n{input}"),)


class Data(Card):
    """Where samples come from: a file of the registry or a Hugging Face dataset (extra `datasets`)."""

    path: str | None = Field(None, description="CSV, JSONL or Parquet, relative to the registry")
    hub: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?$", description="name of a Hugging Face dataset"
    )
    config: str | None = Field(None, description="hub: its configuration")
    split: str = Field("test", description="hub: its split")
    revision: str | None = Field(None, description="hub: branch, tag or commit")
    id: str | None = Field(None, description="column of the sample's id; default: the row's number from 0")
    input: str = Field("input", description="column of the text put for {input}")
    gold_label: str | None = Field(None, description="column of the gold label")
    gold_labels: dict[str, str] | None = Field(None, description="renames what the gold column holds to labels")
    rows: int | None = Field(None, ge=1, description="how many rows there are, for data that does not ship")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.path is not None and "\x00" in self.path:
            msg = "a path holds no NUL"
            raise ValueError(msg)
        if (self.path is None) == (self.hub is None):
            msg = "data needs either path or hub"
            raise ValueError(msg)
        return self


def _labels(value: object) -> object:
    if isinstance(value, dict):
        return tuple({"label": label, "description": text} for label, text in value.items())
    if isinstance(value, list | tuple):
        return tuple(item if isinstance(item, dict | TaskLabel) else {"label": item} for item in value)
    return value


class TaskLabel(Card):
    """One label of a closed set."""

    label: str = Field(min_length=1, max_length=1000, description="as the model must write it")
    description: str | None = Field(None, description="what it covers; the strategy `detail` shows it")

    @field_validator("label")
    @classmethod
    def _trimmed(cls, value: str) -> str:
        if value != value.strip():
            msg = f"label {value!r} begins or ends with white space, so no trimmed answer can equal it"
            raise ValueError(msg)
        return value


class TaskCard(Card):
    """A question put to every sample."""

    kind: Literal["classification"] = Field("classification", description="a closed label set")
    level: Level = Field("nominal", description="what the labels are to each other")
    labels: Annotated[tuple[TaskLabel, ...], BeforeValidator(_labels)] = Field(
        description="the closed set, in order: a list, or a mapping of label to description"
    )
    instruction: str = Field(min_length=1, description="the part of the prompt that is rephrased")
    output_format: str = Field("", description="how to answer; never rephrased")
    messages: tuple[Message, ...] = Field(DEFAULT_MESSAGES, min_length=1, description="the prompt")
    reader: Reader = Field("exact", description="turns a completion into a label")
    refusal_pattern: str | None = Field(
        None, max_length=1000, description="RE2: an unread completion it matches is refused"
    )
    examples: dict[str, str] | None = Field(
        None, description="one_shot: an example input a label; default: rows of the data kept out of the samples"
    )
    protected: tuple[str, ...] = Field((), description="words a rephrasing must keep, beside labels and placeholders")
    data: Data = Field(description="where the samples come from")

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        names = self.label_names
        if len(names) < 2:  # noqa: PLR2004 - one label is no question
            msg = f"labels needs at least two, found {len(names)}"
            raise ValueError(msg)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"label {twice[0]!r} stands twice"
            raise ValueError(msg)
        if self.level == "interval":
            for name in names:
                if not is_number(name):
                    msg = f"label {name!r} of an interval task is no number"
                    raise ValueError(msg)
        if not any("input" in placeholders(message.content) for message in self.messages):
            msg = "messages never use {input}"
            raise ValueError(msg)
        if not any("instruction" in placeholders(message.content) for message in self.messages):
            msg = "messages never use {instruction}, so nothing can be rephrased"
            raise ValueError(msg)
        if self.examples is not None and set(self.examples) != set(names):
            msg = f"examples needs one input a label; differs at {sorted(set(self.examples) ^ set(names))}"
            raise ValueError(msg)
        if self.refusal_pattern is not None:
            RegexReader(regex=self.refusal_pattern)
        return self

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels alone, in the card's order."""
        return tuple(item.label for item in self.labels)


def is_number(text: str) -> bool:
    """Whether the text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
