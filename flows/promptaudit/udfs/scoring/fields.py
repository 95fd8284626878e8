"""Reads the fields of a JSON object in an answer, and decides which are right, each by its own rule.

A rule turns all ways to write a value into one canonical value, so that values can be compared and counted:

- `exact`: the text without the white space around it, in Unicode's composed form;
- `number`: an exact decimal, so that "1,234.50 EUR" is 1234.5 (`udfs.scoring.numbers`);
- `date`: YYYY-MM-DD (`udfs.scoring.dates`);
- `one_of`: the value of the card that it is, whatever its case;
- `token_f1`: its words after SQuAD's normalisation; right where their F1 with the gold value is at least `at_least`.

A field of lists has a JSON list of such values, in their order; a single value is a list of one. It is right where the
gold list is as long and each value is right.

A field that is absent, null, blank, an empty list or a list of such values has the empty value, which is right where
the gold value is empty too. A value that a rule cannot read, such as an object, or a list in the place of a single
value, is None and never right.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from promptaudit.udfs.readers.json_object import TWICE, object_with
from promptaudit.udfs.readers.reading import MAX_READ_CHARACTERS
from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.dates import iso_date
from promptaudit.udfs.scoring.numbers import number
from promptaudit.udfs.scoring.token_f1 import normalised, token_f1
from promptaudit.udfs.spelling import canonical, folded
from promptaudit.udfs.sql_function import sql_function

EMPTY = ""
"""The canonical value of a field that is absent, null, blank or an empty list."""
AT_LEAST = 0.5
"""The F1 from which a text is right where the card does not give one."""
MAX_VALUE_CHARACTERS = 10_000
"""A longer value is not read."""
MAX_ITEMS = 1_000
"""A longer list is not read."""
MAX_SHOWN_CHARACTERS = 500


class FieldReading(NamedTuple):
    """A field of an answer: its text, cut to `MAX_SHOWN_CHARACTERS`, its canonical value and whether it is right.

    A value that cannot be read, and a value of an answer without a JSON object, is None. Score and `is_correct` are
    None where the gold value is not known.
    """

    field: str
    raw_value: str | None
    value: str | None
    gold_value: str | None
    score: float | None
    is_correct: bool | None


@sql_function()
def read_fields(completion: str | None, reader: str, gold: str | None) -> list[FieldReading]:
    """Reads each field of a task, in the card's order.

    Args:
        completion: the answer; None where it has no JSON object with any of the fields.
        reader: `{"fields": {name: rule}}` as JSON.
        gold: an object of the gold values by field as JSON; None where none is known. If it is no object, no gold value
            is known; if a field is missing in it, the gold value of that field is not known.

    Example:
        >>> reader = '{"fields": {"total": {"rule": "number"}}}'
        >>> found = read_fields('It is {"total": "1,234.50 EUR"}.', reader, '{"total": "1234.5"}')
        >>> [(each.value, each.is_correct) for each in found]
        [('1234.5', True)]
    """
    rules = fields_of(reader)
    said = None if completion is None else object_with(parted(completion).answer.strip()[:MAX_READ_CHARACTERS], rules)
    right = None if gold is None else object_with(gold, rules)
    return [_reading(name, rule, said, right) for name, rule in rules.items()]


@functools.lru_cache(maxsize=64)
def fields_of(reader: str) -> Mapping[str, Mapping[str, Any]]:
    """Looks up the rule of each field of a reader given as JSON; none for a reader of another kind."""
    card = json.loads(reader)
    return card.get("fields", {}) if isinstance(card, dict) else {}


def canonical_value(said: object, rule: Mapping[str, Any]) -> str | None:
    """Turns the value of a field into its canonical value by a rule: `EMPTY` for nothing, None if it cannot be read.

    A list may also be a text that is the JSON of one.

    Example:
        >>> canonical_value(" 5 EUR ", {"rule": "number"}), canonical_value('["5 EUR", 6]', {"rule": "number", "list": True})
        ('5', '["5", "6"]')
    """
    if not rule.get("list"):
        return _single_value(said, rule)
    items = items_of(said)
    values = [_single_value(item, rule) for item in items] if len(items) <= MAX_ITEMS else [None]
    if None in values:
        return None
    return json.dumps(values, ensure_ascii=False) if any(values) else EMPTY


def items_of(said: object) -> list[Any]:
    """Lists the items of a list, or of a text that is the JSON of one; an empty value has none, any other is one."""
    if isinstance(said, str) and said.lstrip().startswith("[") and len(said) <= MAX_READ_CHARACTERS:
        try:
            listed = _LISTS.decode(said.strip())
        except (ValueError, RecursionError):
            return [said]
        return list(listed)
    is_empty = said is None or (isinstance(said, str) and not said.strip())
    return said if isinstance(said, list) else [] if is_empty else [said]


def is_list(text: str) -> bool:
    """Tests whether a text is the JSON of a list."""
    return text.lstrip().startswith("[") and items_of(text) != [text]


def _single_value(said: object, rule: Mapping[str, Any]) -> str | None:
    if not isinstance(said, str | bool | None):
        return None
    text = _storable(str(said).lower() if isinstance(said, bool) else (said or "").strip())
    if not text:
        return EMPTY
    return None if len(text) > MAX_VALUE_CHARACTERS else _RULES[rule["rule"]](text, rule)


def _reading(
    name: str, rule: Mapping[str, Any], said: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> FieldReading:
    key = canonical(name)
    text = None if said is None else _text_of(said.get(key))
    value = None if said is None else canonical_value(said.get(key), rule)
    gold = None if right is None or key not in right else canonical_value(right[key], rule)
    score = None if gold is None else _score(value, gold, rule)
    enough = rule.get("at_least", AT_LEAST) if rule["rule"] == "token_f1" else 1
    is_correct = None if score is None else value is not None and score >= enough
    return FieldReading(name, None if text is None else _shown(text), value, gold, score, is_correct)


def _text_of(value: object) -> str | None:
    # None for an empty field, and for a field that stands twice
    if value is None or value is TWICE:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=lambda _: None)


def _shown(text: str) -> str:
    return _storable(text[:MAX_SHOWN_CHARACTERS])


def _storable(text: str) -> str:
    # JSON may escape half a character, which UTF-8 cannot hold: it becomes a question mark
    return text.encode("utf-8", "replace").decode()


def _score(value: str | None, gold: str, rule: Mapping[str, Any]) -> float:
    # in [0, 1]: 1 or 0 except by `token_f1`, by which a list is as right as its worst item
    if value is None or (value == EMPTY) != (gold == EMPTY):
        return 0.0
    if rule["rule"] != "token_f1":
        return float(value == gold)
    said, right = ([each] if not each or not rule.get("list") else json.loads(each) for each in (value, gold))
    return min(map(_f1, said, right)) if len(said) == len(right) else 0.0


def _f1(said: str, right: str) -> float:
    return token_f1(said, [right])


def _exact(text: str, _: Mapping[str, Any]) -> str:
    return canonical(text)


def _one_of(text: str, rule: Mapping[str, Any]) -> str | None:
    spelled = folded(text)
    return next((str(value) for value in rule["values"] if folded(value) == spelled), None)


_LISTS = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)

_RULES: Mapping[str, Callable[[str, Mapping[str, Any]], str | None]] = {
    "exact": _exact,
    "number": lambda text, _: number(text),
    "date": lambda text, _: iso_date(text),
    "one_of": _one_of,
    "token_f1": lambda text, _: normalised(text) or None,
}
