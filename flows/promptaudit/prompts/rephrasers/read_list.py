"""Reads a list of texts from a completion, in whatever form the model wrote it."""

from __future__ import annotations

import json
import re

MAX_COMPLETION = 200_000
MAX_ITEM = 20_000

_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_LOOSE_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)  # its end may follow its last line
_BULLET = re.compile(r"^[ \t]{0,8}(?:\d{1,5}[.):]|[-*•–])[ \t]+(.+)$", re.MULTILINE)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}  # noqa: RUF001


def read_list(completion: str, limit: int) -> list[str]:
    """Reads up to `limit` texts from a completion, in its order; none if it holds no list.

    Read in turn: a JSON array, an object with one list, either inside a fenced block or amid prose, an array that was
    cut off (its finished strings), numbered or bulleted lines. Plain prose is no list: a refusal never becomes a
    wording. Past 200,000 characters nothing is read; items over 20,000 characters, or that are no UTF-8, are left out.
    """
    text = completion[:MAX_COMPLETION]
    places = [*_FENCE.findall(text), *_LOOSE_FENCE.findall(text), text]
    for place in places:
        items = _whole(place)
        if items is None:
            items = _strings_of_array(place)
        if items:
            return items[:limit]
    for place in places:
        items = _usable([_unquoted(line) for line in _BULLET.findall(place)])
        if items:
            return items[:limit]
    return []


def _whole(text: str) -> list[str] | None:
    # None if the text is no JSON
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list)]
        value = lists[0] if len(lists) == 1 else None
    return _usable(value) if isinstance(value, list) else []


def _strings_of_array(text: str) -> list[str]:
    # the finished strings after the first `[` that a string follows; text after the array is ignored
    start = re.search(r'\[\s*(?=")', text)
    if start is None:
        return []
    decoder, items, at = json.JSONDecoder(strict=False), [], start.end()
    while at < len(text) and text[at] == '"':
        try:
            item, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        items.append(item)
        comma = re.compile(r"\s*,\s*").match(text, at)
        if comma is None:
            break
        at = comma.end()
    return _usable(items)


def _usable(values: list[object]) -> list[str]:
    texts = []
    for value in values:
        only = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
        if isinstance(only, str) and 0 < len(only.strip()) <= MAX_ITEM and _is_clean(only):
            texts.append(only.strip())
    return texts


def _is_clean(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _unquoted(line: str) -> str:
    text = line.strip().rstrip(",").strip()
    text = text.removeprefix("**").removesuffix("**")
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        return text[1:-1]
    return text
