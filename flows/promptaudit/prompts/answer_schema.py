"""Writes the JSON schema of an answer: the labels are an enum with their descriptions, in an object of one field.

The schema of an extraction has the task's fields, each of which may be null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from promptaudit.registry.cards import TaskCard
from promptaudit.registry.field_cards import FieldCard

FIELDS = ("label", "category", "answer", "class", "type", "choice", "kind", "group")


def original_schema(card: TaskCard) -> str:
    """Writes the schema of the original wording."""
    if card.fields:
        return schema_of_fields(card, tuple(card.fields))
    return schema_of(FIELDS[0], card.label_names, {item.label: item.description for item in card.labels})


def schema_of(field: str, labels: Sequence[str], descriptions: Mapping[str, str | None]) -> str:
    """Writes a JSON schema of an object with one field, one of the labels in this order."""
    lines = [f"- {label}: {descriptions[label]}" if descriptions[label] else f"- {label}" for label in labels]
    answer = {"type": "string", "enum": list(labels), "description": "One of:\n" + "\n".join(lines)}
    schema = {"type": "object", "properties": {field: answer}, "required": [field], "additionalProperties": False}
    return json.dumps(schema, ensure_ascii=False)


def schema_of_fields(card: TaskCard, names: Sequence[str]) -> str:
    """Writes a JSON schema of an object with the fields of a card, in the order of the names."""
    properties: dict[str, object] = {}
    for name in names:
        properties[name] = _of_field(card.fields[name])
    schema = {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}
    return json.dumps(schema, ensure_ascii=False)


def _of_field(field: FieldCard) -> dict[str, object]:
    kind, nothing = "number" if field.rule == "number" else "string", [] if field.list else [None]
    value: dict[str, object] = {"type": kind if field.list else [kind, "null"]}
    if field.values:
        value["enum"] = [*field.values, *nothing]
    value = {"type": ["array", "null"], "items": value} if field.list else value
    parts = [
        *([field.description] if field.description else []),
        *(["a date, YYYY-MM-DD"] if field.rule == "date" else []),
    ]
    return {**value, "description": "; ".join(parts)} if parts else value


def field_of(schema: str) -> str:
    """Reads the name of a schema's one field."""
    return str(json.loads(schema)["required"][0])
