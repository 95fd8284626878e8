"""Decides by a few plain rules whether a prompt says how to answer. They know English, and labels in any language.

A prompt says so where a sentence asks for nothing but the answer ("Reply with the label alone"), for one of the labels
("Answer yes or no") or for JSON ("Respond in JSON"), or where the prompt names every label.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from promptaudit.prompts.answer_schema import FIELDS

MOST_SHOWN, MOST_OBJECTS, MOST_NESTED = 80, 100, 5
ASK = r"(?:answer|reply|respond|return|output|print|give|say|write)"
_GAP = r"[^.!?\n]{0,80}"
_NOTHING_ELSE = re.compile(
    rf"\b{ASK}\b{_GAP}\b(?:alone|only|just|exactly|nothing else|nothing but)\b"
    rf"|\b{ASK}\b{_GAP}\b(?:one|a single) (?:word|label|letter|number|token)\b"
    rf"|\b(?:only|just|simply) {ASK}\b|\b(?:answer|reply|respond) with\b|\bno (?:explanation|other text|extra text|preamble)\b"
    rf"|\b(?:answer|response|reply|output) format\b|\bformat (?:your|the) (?:answer|response|reply|output)\b",
    re.IGNORECASE,
)
_JSON = re.compile(
    rf"\b(?:{ASK}|format|produce|formatted)\b{_GAP}\bjson\b|\b(?:{ASK}|format)\b[^.!?{{}}]{{0,80}}\{{\s*\"",
    re.IGNORECASE,
)
SMALL_WORDS = r"(?:\W+(?:with|by|in|as|either|only|just|one|of|the|these|following|words?|labels?|a|an|single))*"
_LIST = re.compile(r"\b(?:labels|classes|categories|options|choices|answers)\b[^:\n]{0,40}:", re.IGNORECASE)
_OBJECT = re.compile(r"\{[^{}]*\}")
_FIELD = re.compile(r'"([A-Za-z_]\w{0,39})"\s*:\s*("[^"\n]*"|[^\s",{}]*)')
SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - of other scripts


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yields where each sentence or line of a text begins and ends."""
    start = 0
    for gap in SENTENCE_END.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def asks_for_a_form(sentence: str, labels: Sequence[str]) -> bool:
    """Checks whether a sentence asks for only the answer, one of the labels or JSON, or is a list of labels."""
    is_list = _LIST.search(sentence) is not None and names_labels(sentence, labels)
    if is_list or _NOTHING_ELSE.search(sentence) or _JSON.search(sentence):
        return True
    names = "|".join(map(_as_answer, (*labels, "yes", "no")))
    return (
        re.search(
            rf"(?<!\bthe )(?<!\bthis )(?<!\ban )\b{ASK}{SMALL_WORDS}\W+(?:{names})(?!\w)", sentence, re.IGNORECASE
        )
        is not None
    )


def _as_answer(label: str) -> str:
    # "no" before a noun is no answer ("give no reasons")
    alone = r"(?!\s+(?!or\b|and\b|if\b|when\b|otherwise\b)\w)" if label.casefold() == "no" else ""
    return re.escape(label) + alone


def names_labels(text: str, labels: Iterable[str]) -> bool:
    """Checks whether a text names every label as a whole word. Labels of one or two characters must match in case.

    Without labels it is False.
    """
    labels = tuple(labels)
    return bool(labels) and all(
        re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE if len(label) > 2 else 0)  # noqa: PLR2004
        for label in labels
    )


def how_to_answer(text: str, labels: Sequence[str]) -> str | None:
    """Quotes the words of a prompt that say how to answer, for the person whose prompt it is. None if none do."""
    for start, end in sentences(text):
        if asks_for_a_form(text[start:end], labels):
            words = " ".join(text[start:end].split())
            return f'"{words}"' if len(words) <= MOST_SHOWN else f'"{words[:MOST_SHOWN]}..."'
    return "it names every label" if names_labels(text, labels) else None


def json_field(text: str, labels: Sequence[str], answers: Iterable[str] = ()) -> str | None:
    """Finds the field of a prompt's JSON in which the label stands. None where it asks for no JSON or shows none.

    `answers` are the answers that it shows as examples: where one is an object, JSON is asked for too. The field is the
    one whose value is a label in an example of the prompt, else names every label, else names one, else the only field,
    else one with a usual name; a.b stands for b inside of a.
    """
    answers = tuple(answers)
    if not _JSON.search(text) and not any(answer.lstrip().startswith("{") for answer in answers):
        return None
    found = _fields_shown("\n".join((text, *answers)))
    names = list(dict.fromkeys(name for name, _ in found))
    known = {label.casefold() for label in labels}
    of_labels = [name for name, value in found if value.strip().casefold() in known]
    of_labels += [name for name, value in found if names_labels(value, labels)]
    of_labels += [name for name, value in found if any(names_labels(value, [label]) for label in labels)]
    usual = [name for name in FIELDS if name in names]
    return next(iter([*of_labels, *(names if len(names) == 1 else usual)]), None)


def asks_for_json(text: str) -> bool:
    """Checks whether a prompt asks for JSON."""
    return _JSON.search(text) is not None


def fields_of_columns(text: str, columns: Iterable[str], answers: Iterable[str] = ()) -> list[str]:
    """Finds the fields of a prompt's JSON, shown by it or by `answers`, that are columns in any case.

    They are single values of the outermost object that has any, as answers are read. Where it asks for JSON and shows
    none, they are the columns that the asking sentence names as whole words. Empty for a prompt that asks for no JSON.
    """
    answers = tuple(answers)
    if not asks_for_json(text) and not any(answer.lstrip().startswith("{") for answer in answers):
        return []
    shown = "\n".join((text, *answers))
    if _fields_shown(shown):
        named = {column.casefold() for column in columns}
        found = [name for value in _values_shown(shown) for name in _single_values(value, named)]
        return list(dict.fromkeys(found or _single_values_written(shown, named)))
    asking = " ".join(text[start:end] for start, end in sentences(text) if asks_for_json(text[start:end]))
    return [column for column in columns if names_labels(asking, [column])]


def _fields_shown(text: str) -> list[tuple[str, str]]:
    # also of objects that are no JSON, as {"label": <label>}
    found = [leaf for value in _values_shown(text) for leaf in _leaves(value)]
    return found or [pair for example in _OBJECT.findall(text) for pair in _FIELD.findall(example)]


def _values_shown(text: str) -> Iterator[dict[str, Any]]:
    # the outermost JSON objects, if they nest no deeper than an answer's may
    end = 0
    for start in [match.start() for match in re.finditer(r"\{", text)][:MOST_OBJECTS]:
        if start >= end:
            try:
                value, end = json.JSONDecoder().raw_decode(text, start)
                list(_leaves(value))
            except (ValueError, RecursionError):
                continue
            yield value


def _single_values(value: object, named: Collection[str]) -> list[str]:
    # from the outermost object that has any; `named` holds names in lower case
    if not isinstance(value, dict | list):
        return []
    fields = value if isinstance(value, dict) else {}
    found = [name for name, each in fields.items() if not isinstance(each, dict | list) and name.casefold() in named]
    inner = fields.values() if isinstance(value, dict) else value
    return found or next(filter(None, (_single_values(each, named) for each in inner)), [])


def _single_values_written(text: str, named: Collection[str]) -> list[str]:
    # the same for objects that are no JSON, as {"total": <number>}
    found: list[str] = []
    for _ in range(MOST_NESTED):
        pairs = [pair for example in _OBJECT.findall(text) for pair in _FIELD.findall(example)]
        found = [name for name, value in pairs if value[:1] != "[" and name.casefold() in named] or found
        text = _OBJECT.sub("[]", text)  # to the object around it, this is no single value
    return found


def _leaves(fields: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", str(value)
