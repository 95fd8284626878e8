"""Writes the reference of the cards' fields, from the same schemas that editors check cards by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from promptaudit.registry.card_schemas import fields_schema
from promptaudit.registry.registry import KINDS

MOST_SHOWN = 60  # of a default, in characters
_RANGES = (
    ("minimum", "from {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "to {}"),
    ("exclusiveMaximum", "below {}"),
)

Schema = Mapping[str, Any]


def reference() -> str:
    """Writes the fields of every kind of card as Markdown: one table per card, and one for each part with fields."""
    parts = ["# Fields of the cards", *(line for kind in KINDS for line in _of_kind(kind))]
    return "\n\n".join(parts) + "\n"


def _of_kind(kind: str) -> Iterator[str]:
    schema = fields_schema(kind)
    yield f"## {kind}"
    yield from _of_card(schema["additionalProperties"])
    for name, part in sorted(schema["$defs"].items()):
        yield f"### {name}"
        yield from _of_card(part)


def _of_card(card: Schema) -> Iterator[str]:
    yield card["description"]
    rows = [
        f"| `{name}` | {_type(field)} | {_default(name, field, card)} | {_escaped(field['description'])} |"
        for name, field in card["properties"].items()
    ]
    yield "\n".join(("| field | type | default | description |", "|---|---|---|---|", *rows))


def _default(name: str, field: Schema, card: Schema) -> str:
    if name in card.get("required", ()):
        return "needed"
    if field.get("default", []) == []:
        return ""
    text = json.dumps(field["default"], ensure_ascii=False)
    return f"`{_escaped(text)}`" if len(text) <= MOST_SHOWN else "as its JSON Schema has it"


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        forms = [form for form in schema["anyOf"] if form != {"type": "null"}]
        if len(forms) > 1 and forms[1].get("items") == forms[0]:
            others = "".join(f", or a {_type(form)}" for form in forms[2:])
            return f"{_type(forms[0])}; one or a list{others}"
        return " or ".join(map(_type, forms))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
    if schema["type"] in ("array", "object"):
        return _collection(schema)
    return _scalar(schema)


def _collection(schema: Schema) -> str:
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    values = schema["additionalProperties"]
    keys = ", ".join(f"`{word}`" for word in schema["propertyNames"].get("enum", ())) or "text"
    return f"mapping of {keys} to {'anything' if values is True else _type(values)}"


def _scalar(schema: Schema) -> str:
    first = schema["type"][0]
    if first == "boolean":
        return "true or false"
    if first == "string":
        return "text"
    ends = [words.format(schema[keyword]) for keyword, words in _RANGES if keyword in schema]
    return " ".join(("whole number" if first == "integer" else "number", *ends))


def _escaped(text: str) -> str:
    # for a cell of a table
    return text.replace("|", "\\|").replace("\n", " ")
