"""Writes the fields of extraction in a prompt: what each of them holds, and the answer to an example."""

from __future__ import annotations

import json
from collections.abc import Iterator

from promptaudit.registry.cards import TaskCard
from promptaudit.registry.field_cards import FieldCard

_KINDS = {"exact": "a text", "token_f1": "a text", "number": "a number", "date": "a date, YYYY-MM-DD"}


def lines_of_fields(card: TaskCard, bullet: str, colon: str) -> Iterator[str]:
    """Yields a line a field: its name, what its rule reads, and its description if it has one."""
    for name, field in card.fields.items():
        head = f"{bullet}{name} ({_kind(field)})"
        yield f"{head}{colon}{field.description}" if field.description else head


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if "," in value else value


def _kind(field: FieldCard) -> str:
    single = f"one of {', '.join(map(_quoted, field.values))}" if field.values else _KINDS[field.rule]
    return f"a list, each item {single}" if field.list else single


def answer_of(card: TaskCard, gold: str) -> str:
    """Writes the JSON object that answers a sample, from its gold values as JSON; a text that is no object stays.

    Numbers become JSON numbers, lists lists, a choice is spelled as in the card, and an empty value is null. All else
    is as the data has it. An answer put in comes out unchanged.
    """
    try:
        known = json.loads(gold, parse_int=str, parse_float=str)
    except ValueError:
        return gold
    if not isinstance(known, dict):
        return gold
    return json.dumps({name: _value(known.get(name), field) for name, field in card.fields.items()}, ensure_ascii=False)


def _value(gold: object, field: FieldCard) -> object:
    from promptaudit.udfs.scoring.fields import items_of  # most prompts show no answers

    return [_single(item, field) for item in items_of(gold)] if field.list else _single(gold, field)


def _single(gold: object, field: FieldCard) -> object:
    from promptaudit.udfs.scoring.fields import canonical_value

    text = gold.strip() if isinstance(gold, str) else gold
    if field.rule not in ("number", "one_of"):
        return text or None
    value = canonical_value(text, field.model_copy(update={"list": False}).reader())
    if not value:
        return text or None
    return _number(value) if field.rule == "number" else value


def _number(decimal: str) -> object:
    # as text if JSON would spell the number in another way
    try:
        number = json.loads(decimal)
    except ValueError:  # a fraction
        return decimal
    return number if str(number) == decimal else decimal
