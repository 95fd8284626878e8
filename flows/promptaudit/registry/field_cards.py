"""Defines the fields of extraction: what is read from a JSON object in an answer, and the rule that scores it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from promptaudit.registry.base import Card, Name

FieldRule = Literal["exact", "number", "date", "one_of", "token_f1"]
ALL_FIELDS = "all_fields"
"""The scoring method by which an answer is right if every field is."""
MAX_FIELDS = 50


class FieldCard(Card):
    """A field of the JSON object in an answer."""

    rule: FieldRule = Field(
        description="`exact`: the same text; `number`: the same number, whatever its separators, currency or unit; `date`: the "
        "same day; `one_of`: the same of `values`, in either case; `token_f1`: a text that shares enough words"
    )
    values: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...], Field(max_length=1000)] = Field(
        (), description="one_of: the values that the field may have"
    )
    at_least: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="token_f1: the least F1 that counts as right; default: 0.5"
    )
    list: bool = Field(
        default=False,
        description="whether its value is a list, each item of which is read by the rule, in their order; a single value is a "
        "list of one. The gold column holds JSON lists, or single values",
    )
    description: str | None = Field(
        None, description="what the field holds, shown by the strategies `detail` and `structured`"
    )
    gold: Name | None = Field(None, description="column of the gold value; default: the field's name")

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        if (self.rule == "one_of") != bool(self.values):
            yield "values are of the rule one_of, which needs them"
        if any(value != value.strip() for value in self.values):
            yield "values begin and end without white space"
        if self.at_least is not None and self.rule != "token_f1":
            yield "at_least is of the rule token_f1"

    def reader(self) -> dict[str, Any]:
        """Gives the part of the field that readers in the warehouse need to read it."""
        return self.model_dump(mode="json", exclude={"gold", "description"}, exclude_defaults=True)


def _field(value: object) -> object:
    return {"rule": value} if isinstance(value, str) else value


Fields = Annotated[
    dict[Name, Annotated[FieldCard, BeforeValidator(_field, json_schema_input_type=FieldRule | FieldCard)]],
    Field(max_length=MAX_FIELDS),
]
