"""Finds the JSON objects of an answer and the values of their fields, past prose and code fences."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from promptaudit.udfs.spelling import canonical

MAX_JSON_DEPTH = 32
MAX_OPEN_BRACES = 5
"""After so many braces of prose that nothing closes, the search ends: each costs a pass over the rest of the text."""
MAX_DEPTH_PASSED = 1_000
"""The search ends in a text with more open braces and brackets than this."""

_PART = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|"', re.DOTALL)
_OBJECT_STARTS = re.compile(r'\{\s*"')


def object_with(text: str, names: Collection[str]) -> dict[str, Any] | None:
    """Finds the first JSON object of a text that has any of the names as fields; outer objects come before inner ones.

    Names are compared in Unicode's composed form, and the object's names are returned in it. Numbers stay texts as they
    are written. A field that stands twice with different values gets the value `TWICE`. None where there is no such
    object: a trailing comma, NaN, single quotes or a missing end make a text invalid JSON, and objects deeper than
    `MAX_JSON_DEPTH` are not read. Nothing inside an invalid object is read either.
    """
    wanted = {canonical(name) for name in names}
    for start, end in _spans(text):
        try:
            value = _DECODER.decode(text[start:end])
        except ValueError:
            continue
        for fields in _objects(value):
            found = _fields([(canonical(name), each) for name, each in fields.items()])
            if not found.keys().isdisjoint(wanted):
                return found
    return None


class Held(NamedTuple):
    """A value of a field, and where its object, or the field itself, begins and ends in the text."""

    value: object
    start: int
    end: int


_MISSING = object()


def values_of(text: str, path: str) -> list[Held]:
    """Lists the values of a field wherever a text has it, in order.

    `path` has dots between names, whose case is ignored.

    Where no valid JSON object has the field, not even as null, it is looked for by itself outside of them: models write
    single quotes, names without quotes, comments and trailing commas, and some answers are cut off behind the field.
    Texts are strings, numbers stay as they are written.
    """
    names = [canonical(name).casefold() for name in path.split(".")]
    found: list[Held] = []
    rest: list[str] = []
    read_to, has_field = 0, False
    for start, end in _spans(text):
        try:
            value = _DECODER.decode(text[start:end])
        except ValueError:
            continue
        rest += (text[read_to:start], " " * (end - start))
        read_to = end
        for name in names:
            fields = value if isinstance(value, dict) else {}
            value = next((each for key, each in fields.items() if canonical(key).casefold() == name), _MISSING)
        has_field |= value is not _MISSING
        if value is not None and value is not _MISSING:
            found.append(Held(value, start, end))
    return found if has_field else _loose_values("".join((*rest, text[read_to:])).translate(_QUOTES), names)


_QUOTES = str.maketrans("\u201c\u201d\u201e", '"""')
_VALUE = (
    r"""(?:"(?P<double>(?:[^"\\\n]|\\.)*+)"|'(?P<single>(?:[^'\\\n]|\\.)*+)'(?=\s*[,}\]\n]|$)|(?P<bare>[\w.+-]++))"""
    r"(?=\s*(?:[,}\n/#]|$))"
)
MOST_LOOSE = 100_000  # in a longer text no field is looked for by itself


def _loose_values(text: str, names: Sequence[str]) -> list[Held]:
    place = 0
    if len(text) > MOST_LOOSE or "{" not in text:
        return []
    for name in names[:-1]:
        match = re.compile(rf"[\"']?{re.escape(name)}[\"']?\s*:\s*\{{", re.IGNORECASE).search(text, place)
        if match is None:
            return []
        place = match.end()
    field = re.compile(rf"(?<![\w.])[\"']?{re.escape(names[-1])}[\"']?\s*:\s*{_VALUE}", re.IGNORECASE)
    return [
        Held(match["double"] or match["single"] or match["bare"] or "", match.start(), match.end())
        for match in field.finditer(text, place)
    ]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    # objects too deep are left out
    start, n_open = text.find("{"), 0
    while start >= 0 and n_open < MAX_OPEN_BRACES:
        depth = deepest = 0
        end = None
        for part in _PART.finditer(text, start):
            if part[0] == '"':
                break  # a string without an end: each quote inside of it would cost a pass to the end of the text
            depth += (part[0] in "{[") - (part[0] in "}]") if len(part[0]) == 1 else 0
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH_PASSED:
                return
            if depth == 0:
                end = part.end()
                break
        if end is None and _OBJECT_STARTS.match(text, start):
            return  # an object that was cut off
        if end is None:
            n_open += 1
        elif deepest <= MAX_JSON_DEPTH:
            yield start, end
        start = text.find("{", start + 1 if end is None else end)


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


class _Twice:
    """The value of a field that an object has twice, with different values."""


TWICE = _Twice()


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        fields[name] = value if name not in fields or fields[name] == value else TWICE
    return fields


def _no_json(constant: str) -> NoReturn:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


# models write line breaks and tabs in strings as they are, which is invalid JSON with only one possible reading
_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=_no_json, object_pairs_hook=_fields, strict=False
)
