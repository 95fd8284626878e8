"""Reads an object that is not strict JSON: bare keys, any quotes, true or True, a last comma, apostrophes in texts."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_CHARACTERS = 100_000
"""A longer text is not read; each character of a shorter one is passed a fixed number of times."""

_QUOTED_KEY, _BARE_KEY = (
    r"""(?P<quote>['"])(?P<key>[^'"\\]{1,200}+)(?P=quote)\s*+:""",
    r"(?P<key>[A-Za-z_]\w{0,199}+)\s*+:",
)


class _Keys(NamedTuple):
    # patterns for a key at a place, a key anywhere, and the text behind a value of an object with such keys
    here: re.Pattern[str]
    inside: re.Pattern[str]
    end: re.Pattern[str]


def _keys(key: str) -> _Keys:
    end = rf"\s*+(?:,(?=\s*+{key})|,?\s*+\}}\Z)"
    return _Keys(re.compile(rf"\s*+{key}\s*+"), re.compile(key), re.compile(end))


_QUOTED, _BARE = _keys(_QUOTED_KEY), _keys(_BARE_KEY)
_CURLY = {
    ord(mark): straight
    for marks, straight in (("\u201c\u201d\u201e", '"'), ("\u2018\u2019\u201a", "'"))
    for mark in marks
}
_BEGINS_CURLY = re.compile(rf"\{{\s*+[{''.join(map(chr, _CURLY))}]")
_BARE_VALUE = re.compile(r"(true|false|null|none)|([-+]?\d++(?:\.\d*+)?(?:e[-+]?\d++)?)", re.IGNORECASE)
_STOPS = {quote: re.compile(rf"(?s)\\.|{quote}") for quote in "'\""}
_ESCAPED = re.compile(r"(?s)\\([\\'\"n])")
_TRUTHS = {"true": True, "false": False}


def loose_object(text: str) -> dict[str, str | bool | float | None]:
    """Reads the fields of one flat object, each key once; empty where the text is anything else.

    Keys are all bare or all in quotes. A text ends at its quote where the object ends too or another key follows, so
    that an apostrophe inside does not end it; a text with such a quote and a key inside could be two objects and is not
    read. Where the first key stands in curly quotes, all curly quotes count as straight ones. A backslash before
    quotes, n or itself counts as in JSON and stays otherwise, as in LaTeX. A list or an object as a value makes the
    object not flat. Nothing is evaluated.
    """
    if len(text) > MAX_CHARACTERS or not text.startswith("{"):
        return {}
    if _BEGINS_CURLY.match(text):
        text = text.translate(_CURLY)
    keys = _BARE if _BARE.here.match(text, 1) else _QUOTED
    fields: dict[str, str | bool | float | None] = {}
    place = 1
    while place < len(text):
        key = keys.here.match(text, place)
        value = None if key is None else _value(text, key.end(), keys)
        if key is None or value is None or key["key"] in fields:
            return {}
        fields[key["key"]], place = value
    return fields


def _value(text: str, place: int, keys: _Keys) -> tuple[str | bool | float | None, int] | None:
    # the value that begins at a place, and the place behind it; None where no value begins
    bare = _BARE_VALUE.match(text, place)
    if bare is not None:
        end = keys.end.match(text, bare.end())
        value = _TRUTHS.get(bare[1].lower()) if bare[1] else float(bare[2])
        return None if end is None else (value, end.end())
    quote, is_ended_before = text[place : place + 1], False
    for stop in _STOPS[quote].finditer(text, place + 1) if quote in _STOPS else ():
        if len(stop[0]) > 1:
            continue
        end = keys.end.match(text, stop.end())
        if end is not None:
            inside = text[place + 1 : stop.start()]
            is_two = is_ended_before and keys.inside.search(inside) is not None
            return None if is_two else (_ESCAPED.sub(_unescaped, inside), end.end())
        is_ended_before = True
    return None


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]
