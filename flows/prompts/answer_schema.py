"""Says in a JSON schema how to answer: the labels are an enum with their descriptions, in an object of one field.

Of extraction it has the task's fields, each of which may be null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from promptaudit.models_registry.cards import TaskCard

FIELDS = ("label", "category", "answer", "class", "type", "choice", "kind", "group")


def original_schema(card: TaskCard) -> str:
    """Returns the schema of the original wording."""
    if card.fields:
        return schema_of_fields(card, tuple(card.fields))
    return schema_of(FIELDS[0], card.label_names, {item.label: item.description for item in card.labels})


def schema_of(field: str, labels: Sequence[str], descriptions: Mapping[str, str | None]) -> str:
    """Returns a JSON schema of an object with one field, one of the labels in this order."""
    lines = [f"- {label}: {descriptions[label]}" if descriptions[label] else f"- {label}" for label in labels]
    answer = {"type": "string", "enum": list(labels), "description": "One of:\n" + "\n".join(lines)}
    schema = {"type": "object", "properties": {field: answer}, "required": [field], "additionalProperties": False}
    return json.dumps(schema, ensure_ascii=False)


def schema_of_fields(card: TaskCard, names: Sequence[str]) -> str:
    """Returns a JSON schema of an object with the fields of a card, in the order of the names."""
    properties: dict[str, object] = {}
    for name in names:
        field = card.fields[name]
        properties[name] = {"type": ["number" if field.rule == "number" else "string", "null"]}
        if field.values:
            properties[name] = {"type": ["string", "null"], "enum": [*field.values, None]}
        elif field.rule == "date":
            properties[name] = {"type": ["string", "null"], "description": "a date, YYYY-MM-DD"}
    schema = {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}
    return json.dumps(schema, ensure_ascii=False)


def field_of(schema: str) -> str:
    """Returns the name of a schema's one field."""
    return str(json.loads(schema)["required"][0])
