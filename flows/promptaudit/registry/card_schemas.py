"""Derives the JSON Schema of card files from the models of the cards, for editors and other tools."""

from __future__ import annotations

import re
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from promptaudit.registry.card_faults import MAX_ID
from promptaudit.registry.registry import KINDS

NULL = {"type": "null"}
DIALECT = "https://json-schema.org/draft/2020-12/schema"

# A card's scalars are text as written, so a quoted number is a number, and a number is a text where a text is wanted.
# A keyword of JSON Schema holds for its own type alone: `pattern` for texts, `minimum` for numbers.
_WHOLE = r"^\s*[+-]?[0-9](_?[0-9])*(\.0*)?\s*$"
_NUMBER = r"^\s*[+-]?([0-9](_?[0-9])*\.?([0-9](_?[0-9])*)?|\.[0-9](_?[0-9])*)([eE][+-]?[0-9]+)?\s*$"
_YES_OR_NO = "^({})$".format(
    "|".join(
        "".join(f"[{letter}{letter.upper()}]" for letter in word)
        for word in ("true", "t", "yes", "y", "on", "false", "f", "no", "n", "off")
    )
    + "|[01]"
)


class _CardSchema(GenerateJsonSchema):
    # its schemas accept what a card's YAML may hold, and have no titles made from names
    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return {**super().str_schema(schema), "type": ["string", "number", "boolean"]}

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return {**super().int_schema(schema), "type": ["integer", "string"], "pattern": _WHOLE}

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {**super().float_schema(schema), "type": ["number", "string"], "pattern": _NUMBER}

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        numbers = {"minimum": 0, "maximum": 1}
        return {
            **super().bool_schema(schema),
            "type": ["boolean", "string", "integer"],
            "pattern": _YES_OR_NO,
            **numbers,
        }

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        # refuses keys that do not fit their pattern; pydantic's own schema lets them pass with any value
        keys = {name: value for name, value in self.generate_inner(schema["keys_schema"]).items() if name != "type"}
        values = self.generate_inner(schema["values_schema"])
        return {"type": "object", "propertyNames": keys, "additionalProperties": values or True}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        return {key: value for key, value in made.items() if (key, value) != ("default", None)}

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic hands it
        return False


def file_schema(kind: str) -> dict[str, Any]:
    """Builds the JSON Schema (draft 2020-12) of a card file of a kind: each id to a card, unknown fields refused.

    `kind` is a key of KINDS. The schema holds the fields, their types, ranges and descriptions, and accepts every
    shorthand that a card may use. It leaves rules between fields to `validate`. A file without cards is sound. If a
    value may be of several types, it is checked only against the form of its own type, so that each fault in it is
    reported by itself.
    """
    fields = fields_schema(kind)
    parts = {name: _by_type(part) for name, part in fields.pop("$defs").items()}
    return {**_by_type(fields), "$defs": parts}


def fields_schema(kind: str) -> dict[str, Any]:
    """Builds the schema that still lists the forms a value may have as `anyOf`, for pages that describe them."""
    card = KINDS[kind].model_json_schema(schema_generator=_CardSchema)
    parts = {name: _untitled(part) for name, part in card.pop("$defs", {}).items()}
    return {
        "$schema": DIALECT,
        "title": f"promptaudit {kind}",
        "description": summary(kind),
        "type": ["object", "null"],
        "propertyNames": {"minLength": 1, "maxLength": MAX_ID},
        "additionalProperties": _untitled(card),
        "$defs": parts,
    }


def _by_type(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    # where only one form is an object, or a list, `anyOf` becomes a choice by the value's type
    if isinstance(schema, list):
        return [_by_type(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _by_type(value) for key, value in schema.items() if key != "anyOf"}
    return made | _chosen(_by_type(schema["anyOf"])) if "anyOf" in schema else made


def _chosen(forms: list[Any]) -> dict[str, Any]:
    if len(others := [form for form in forms if form != NULL]) < len(forms):
        return {"if": NULL, "else": _chosen(others)}
    for kind in ("object", "array"):
        of_kind = [form for form in forms if _type(form) == kind]
        others = [form for form in forms if _type(form) != kind]
        if len(of_kind) == 1 and others:
            return {"if": {"type": kind}, "then": of_kind[0], "else": _chosen(others)}
    return dict(forms[0]) if len(forms) == 1 else {"anyOf": forms}


def _type(form: dict[str, Any]) -> str | None:
    # None if a form has several types; a card's part, which is referred to, is an object
    return "object" if "$ref" in form else form.get("type") if isinstance(form.get("type"), str) else None


def summary(kind: str) -> str:
    """Gives the first sentence of the docstring of a kind's card."""
    return re.split(r"(?<=\.)\s", (KINDS[kind].__doc__ or "").strip(), maxsplit=1)[0]


def _untitled(model: JsonSchemaValue) -> JsonSchemaValue:
    return {key: value for key, value in model.items() if key != "title"}
