"""Fills a question's fields for a model that knows the key, each right or wrong on its own, and writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from promptaudit.engines import Question
from promptaudit.engines.embedded.draws import uniform

NAMES = ("Velmora", "Tarrin Holt", "Osmere", "Brinwick", "Calder Vane", "Ondreth", "Quillon", "Merrow Dell")
"""Lists wrong values without a number; made up."""
BARE = 0.7
"""Sets the share of plain answers that are a sign, reference or object alone; the others have words or a fence around."""
DIGITS = re.compile(r"\d{1,15}")


def field_values(
    question: Question, knows: Callable[[str], bool], sample: tuple[str | int, ...]
) -> dict[str, str | None]:
    """Fills a question's fields: the gold value if `knows` the field, else another, always the same for a sample.

    Without a key every value is made up.
    """
    gold = json.loads(question.references[0]) if question.references else {}
    return {
        name: gold.get(name) if name in gold and knows(name) else _wrong(gold.get(name), listed, (*sample, name))
        for name, listed in question.fields.items()
    }


def as_object(values: Mapping[str, str | None], form: float) -> str:
    """Writes the values as a JSON object; `form` in [0, 1) decides what stands around it."""
    said = json.dumps(values, ensure_ascii=False)
    if form < BARE:
        return said
    return f"```json\n{said}\n```" if form < (1 + BARE) / 2 else f"Here is what the text says:\n{said}"


def raised(text: str, more: int) -> str:
    """Adds to the first number in a text: 2 more than "Apollo 11" is "Apollo 13"."""
    return DIGITS.sub(lambda digits: str(int(digits[0]) + more), text, count=1)


def _wrong(gold: str | None, listed: tuple[str, ...], draw: tuple[str | int, ...]) -> str:
    # another listed value, another number, or a made-up name
    others = [value for value in listed if value.casefold() != (gold or "").strip().casefold()]
    if not others and gold is not None and DIGITS.search(gold):
        return raised(gold, 1 + int(uniform("raised", *draw) * 8))
    others = others or [name for name in NAMES if name != gold]
    return others[int(uniform("wrong", *draw) * len(others))]
