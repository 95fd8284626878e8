"""Reads the fields of a JSON object in an answer, and says which are right, each by a rule of its own.

A rule makes one canonical value of all ways to write it, so that values can be compared and counted:

- `exact`: the text without the white space around it, in Unicode's composed form;
- `number`: an exact decimal, so that "1,234.50 EUR" is 1234.5; signs and codes of currencies, units and percent signs are left
  out, and a comma is a decimal point where it can be nothing else;
- `date`: YYYY-MM-DD (`udfs.scoring.dates`);
- `one_of`: the value of the card that it is, whatever its case;
- `token_f1`: its words after SQuAD's normalisation; right where their F1 with the gold value's is at least `at_least`.

A field that is absent, null or blank has the empty value, which is right where the gold value is empty too. A value that a
rule cannot read, such as a list or an object, is no value and never right.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from promptaudit.udfs.readers.json_object import TWICE, object_with
from promptaudit.udfs.readers.reading import MAX_READ_CHARACTERS
from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.dates import iso_date
from promptaudit.udfs.scoring.math.final_answer import tidied
from promptaudit.udfs.scoring.math.number import MAX_CHARACTERS, read_quantity
from promptaudit.udfs.scoring.token_f1 import normalised, token_f1
from promptaudit.udfs.spelling import canonical, folded, with_ascii_digits, without_unseen
from promptaudit.udfs.sql_function import sql_function

EMPTY = ""
"""The canonical value of a field that is absent, null or blank."""
AT_LEAST = 0.5
"""The F1 from which a text is right where the card does not say."""
MAX_VALUE_CHARACTERS = 10_000
"""A longer value is not read."""
MAX_SHOWN_CHARACTERS = 500


class FieldReading(NamedTuple):
    """A field of an answer: what stands there, cut to `MAX_SHOWN_CHARACTERS`, its canonical value and whether it is right.

    A value that cannot be read, and one of an answer without a JSON object, is None. Score and `is_correct` are None where the
    gold value is not known.
    """

    field: str
    raw_value: str | None
    value: str | None
    gold_value: str | None
    score: float | None
    is_correct: bool | None


@sql_function()
def read_fields(completion: str | None, reader: str, gold: str | None) -> list[FieldReading]:
    """Returns the reading of each field of a task, in the card's order.

    Args:
        completion: the answer; None where it has no JSON object with any of the fields.
        reader: `{"fields": {name: rule}}` as JSON.
        gold: an object of the gold values by field as JSON; None where none is known. If it is no object, no gold value is
            known; if a field is missing in it, that of the field is not known.

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
    """Returns the rule of each field of a reader given as JSON; none of a reader of another kind."""
    card = json.loads(reader)
    return card.get("fields", {}) if isinstance(card, dict) else {}


def canonical_value(text: str | None, rule: Mapping[str, Any]) -> str | None:
    """Returns the canonical value of a text by a rule: `EMPTY` of none and of a blank one, None of one that cannot be read."""
    text = _storable((text or "").strip())
    if not text:
        return EMPTY
    return None if len(text) > MAX_VALUE_CHARACTERS else _RULES[rule["rule"]](text, rule)


def _reading(
    name: str, rule: Mapping[str, Any], said: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> FieldReading:
    key = canonical(name)
    text, is_text = (None, False) if said is None else _text_of(said.get(key))
    value = canonical_value(text, rule) if is_text else None
    gold_text, is_known = (None, False) if right is None or key not in right else _text_of(right[key])
    gold = canonical_value(gold_text, rule) if is_known else None
    score = None if gold is None else _score(value, gold, rule)
    enough = rule.get("at_least", AT_LEAST) if rule["rule"] == "token_f1" else 1
    is_correct = None if score is None else value is not None and score >= enough
    return FieldReading(name, None if text is None else _shown(text), value, gold, score, is_correct)


def _text_of(value: object) -> tuple[str | None, bool]:
    """Returns what stands in a field as a text, and whether it is a single value or nothing."""
    if isinstance(value, bool):
        return str(value).lower(), True
    if value is None or isinstance(value, str):
        return value, True
    return (None if value is TWICE else json.dumps(value, ensure_ascii=False, default=lambda _: None)), False


def _shown(text: str) -> str:
    return _storable(text[:MAX_SHOWN_CHARACTERS])


def _storable(text: str) -> str:
    """Returns a text with a question mark for each half of a character, which JSON may escape and UTF-8 does not have."""
    return text.encode("utf-8", "replace").decode()


def _score(value: str | None, gold: str, rule: Mapping[str, Any]) -> float:
    """Returns in [0, 1] how right a value is: 1 or 0 by all rules but `token_f1`."""
    if value is None or (value == EMPTY) != (gold == EMPTY):
        return 0.0
    return token_f1(value, [gold]) if rule["rule"] == "token_f1" else float(value == gold)


def _exact(text: str, _: Mapping[str, Any]) -> str:
    return canonical(text)


def _one_of(text: str, rule: Mapping[str, Any]) -> str | None:
    spelled = folded(text)
    return next((str(value) for value in rule["values"] if folded(value) == spelled), None)


_COUNTRY = re.compile(r"\b[A-Z]{1,2}(?=\$)")
_CODE_BEFORE = re.compile(r"([-+]?)\s*(?:[A-Z]{3}|[Kk]r\.?)\s*(?=[-+.]?\d)")
_CODE_BEHIND = re.compile(r"(?<=\d)(?=[A-Z]{3}$)")
_COMMA = re.compile(r"(?<![\d.,])(?P<whole>\d{1,3}(?:[ '.]\d{3})+|\d+),(?P<decimals>\d+)(?![\d.,])")
_SEPARATORS = re.compile(r"\D")
_GROUPS = re.compile(r"\d{1,3}(?:(?:'\d{3})+|(?:\.\d{3}){2,})(?![\d'])|(?<![\d,])\d{1,2}(?:,\d\d)+,\d{3}(?![\d,])")
_multiplies = re.compile(
    r"dozen|hundred|thousand|million(?:en)?|billion|trillion|lakh|crore|tausend|mio|mrd|mln|mill|mille|milliard(?:en?)?|mil|"
    r"millone|milione|milioni|miliardi|miljoen|miljard"
).fullmatch
"""Whether a word multiplies, in lower case and without the s of a plural."""


def number(text: str) -> str | None:
    """Returns the decimal that a text is, exactly; None of a text that is no number.

    1/3 is returned as a fraction, since no decimal equals it.
    1,234 has thousands and 1.234 decimals; "1.234,50", "1 234,50", "12,5" and "0,500" can only have a decimal comma. A number in
    parentheses is negative, as in accounts. "5 million" and "1.2M" are no numbers, as words and letters that multiply differ
    between languages.

    Example:
        >>> number("$1,234.50"), number("1.234,50 EUR"), number("-0.0"), number("12 %"), number("none")
        ('1234.5', '1234.5', '0', '12', None)
    """
    if len(text) > MAX_CHARACTERS:
        return None
    text = _COUNTRY.sub("", with_ascii_digits(without_unseen(text)).replace("\u2019", "'").strip())
    text = f"-{text[1:-1]}" if text.startswith("(") and text.endswith(")") else text
    text = "".join(" " if unicodedata.category(each) in ("Sc", "Zs") else each for each in text).strip()
    text = _CODE_BEHIND.sub(" ", _CODE_BEFORE.sub(r"\1", text, count=1))
    found = read_quantity(tidied(_with_points(text)))
    return None if found is None or found.name or any(map(_multiplies, found.unit)) else _decimal(found.value)


def _with_points(text: str) -> str:
    """Returns a text whose first number has a decimal point and no separators, where it can only be meant so."""
    comma = _COMMA.search(text)
    if comma is not None and (
        len(comma["decimals"]) != 3 or comma["whole"].startswith("0") or not comma["whole"].isdigit()
    ):
        whole = _SEPARATORS.sub("", comma["whole"])
        return f"{text[: comma.start()]}{whole}.{comma['decimals']}{text[comma.end() :]}"
    return _GROUPS.sub(lambda groups: _SEPARATORS.sub("", groups[0]), text, count=1)


def _decimal(value: Fraction) -> str:
    rest, n_decimals = value.denominator, 0
    while rest % 10 == 0 or rest % 2 == 0 or rest % 5 == 0:
        rest //= 10 if rest % 10 == 0 else 2 if rest % 2 == 0 else 5
        n_decimals += 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**n_decimals // value.denominator).rjust(n_decimals + 1, "0")
    whole, decimals = digits[: len(digits) - n_decimals], digits[len(digits) - n_decimals :]
    return f"{'-' if value < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"


_RULES: Mapping[str, Callable[[str, Mapping[str, Any]], str | None]] = {
    "exact": _exact,
    "number": lambda text, _: number(text),
    "date": lambda text, _: iso_date(text),
    "one_of": _one_of,
    "token_f1": lambda text, _: normalised(text) or None,
}
