"""Reads an object that is no strict JSON: keys and texts in either quotes, true or True, an apostrophe inside a text."""

from __future__ import annotations

import re

MAX_CHARACTERS = 100_000
"""A longer text is not looked at; each character of a shorter one is passed a fixed number of times."""

_KEY = re.compile(r"""\s*+(['"])([^'"\\]{1,200}+)\1\s*+:\s*+""")
_BARE = re.compile(r"(true|false|null|none|[-+]?\d[\d.eE+-]*+)", re.IGNORECASE)
_END = re.compile(r"""\s*+(?:,(?=\s*+(['"])[^'"\\]{1,200}+\1\s*+:)|\}\Z)""")
"""What stands behind a value: a comma and another key, or the end of the whole text."""
_INNER_KEY = re.compile(r"""(['"])[^'"\\]{1,200}+\1\s*+:""")
_STOPS = {quote: re.compile(rf"(?s)\\.|{quote}") for quote in "'\""}
_ESCAPED = re.compile(r"(?s)\\([\\'\"n])")
_TRUTHS = {"true": True, "false": False}


def loose_object(text: str) -> dict[str, str | bool | None]:
    """Returns the fields of one flat object, each key once; empty where the text is anything else.

    A text ends at its quote where the object ends too or another key follows, so that an apostrophe inside does not end it;
    one with such a quote and a key inside could be two objects and is none. A backslash before quotes, n or itself is taken as
    JSON takes it and stays otherwise, as in LaTeX. Values that are no text and no truth, such as numbers, are None; lists and
    objects make it no flat object. Nothing is evaluated.
    """
    if len(text) > MAX_CHARACTERS or not text.startswith("{"):
        return {}
    fields: dict[str, str | bool | None] = {}
    place = 1
    while place < len(text):
        key = _KEY.match(text, place)
        value = None if key is None else _value(text, key.end())
        if key is None or value is None or key[2] in fields:
            return {}
        fields[key[2]], place = value
    return fields


def _value(text: str, place: int) -> tuple[str | bool | None, int] | None:
    """Returns the value that begins at a place, and where what follows begins; None where none does."""
    bare = _BARE.match(text, place)
    if bare is not None:
        end = _END.match(text, bare.end())
        return None if end is None else (_TRUTHS.get(bare[1].lower()), end.end())
    quote, is_ended_before = text[place : place + 1], False
    for stop in _STOPS[quote].finditer(text, place + 1) if quote in _STOPS else ():
        if len(stop[0]) > 1:
            continue
        end = _END.match(text, stop.end())
        if end is not None:
            inside = text[place + 1 : stop.start()]
            is_two = is_ended_before and _INNER_KEY.search(inside) is not None
            return None if is_two else (_ESCAPED.sub(_unescaped, inside), end.end())
        is_ended_before = True
    return None


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]
