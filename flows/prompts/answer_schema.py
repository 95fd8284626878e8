"""Says in a JSON schema how to answer: the labels are an enum with their descriptions, in an object of one field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from promptaudit.models_registry.cards import TaskCard

FIELDS = ("label", "category", "answer", "class", "type", "choice", "kind", "group")


def original_schema(card: TaskCard) -> str:
    """Returns the schema of the original wording."""
    return schema_of(FIELDS[0], card.label_names, {item.label: item.description for item in card.labels})


def schema_of(field: str, labels: Sequence[str], descriptions: Mapping[str, str | None]) -> str:
    """Returns a JSON schema of an object with one field, one of the labels in this order."""
    lines = [f"- {label}: {descriptions[label]}" if descriptions[label] else f"- {label}" for label in labels]
    answer = {"type": "string", "enum": list(labels), "description": "One of:\n" + "\n".join(lines)}
    schema = {"type": "object", "properties": {field: answer}, "required": [field], "additionalProperties": False}
    return json.dumps(schema, ensure_ascii=False)


def field_of(schema: str) -> str:
    """Returns the name of a schema's one field."""
    return str(json.loads(schema)["required"][0])
