"""Reads a judge's ruling from its reply. A reply that is not exactly one object is no verdict.

A judge reads the text it rules on, and that text may hold a verdict in the judge's own format. So prose is never
searched, and of two objects or two equal keys neither is preferred.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, NamedTuple, Self

from promptaudit.udfs.reasoning import parted
from promptaudit.udfs.scoring.loose_object import loose_object
from promptaudit.udfs.sql_function import sql_function

SCHEMA: str = json.dumps(
    {
        "type": "object",
        # in this order a model that must follow the schema gives its reason before it rules
        "properties": {"reason": {"type": "string"}, "match": {"type": "boolean"}},
        "required": ["reason", "match"],
        "additionalProperties": False,
    }
)
"""The JSON schema that a judge's reply is asked to follow."""

MAX_READ_CHARACTERS = 1_000_000
"""A longer reply is no verdict: when cut, it would be invalid JSON."""


class Verdict(NamedTuple):
    """A ruling: whether the judged text matches (None if the reply is no verdict), and the judge's reason, if any."""

    is_match: bool | None
    reason: str | None
    grade: str | None = None  # as the judge wrote it, where its card names grades


@sql_function()
def read_verdict(completion: str | None, form: str | None = None) -> Verdict:
    """Reads the verdict in a reply.

    Without a form, it is an object with `match`, true or false, and at most a text `reason`.

    A reasoning block before it, white space around it and one fence (``` or ```json, in any case) are removed. The
    object is JSON or, as models write it, one with true or True, any quotes, bare keys or a last comma
    (`loose_object`); "true" in quotes counts as true, a null reason as none. Anything more makes it no verdict: prose,
    a second object, another key or a repeated key, 1 for true. A lone surrogate in the reason becomes a question mark,
    since no column of text can hold it.
    """
    if completion is None or len(completion) > MAX_READ_CHARACTERS:
        return Verdict(None, None)
    # a reply that is one object has no reasoning before it, whatever tags its texts hold
    whole = _without_fence(completion.strip())
    text = whole if _object(whole) else _without_fence(parted(completion).answer.strip())
    if form is not None:
        return _graded(text, _Form.of(form))
    reply = _object(text)
    is_match, reason = _TRUTHS.get(_text_of(reply.get("match"))), reply.get("reason")
    if is_match is None or not isinstance(reason, str | None) or not reply.keys() <= {"match", "reason"}:
        return Verdict(None, None)
    return Verdict(is_match, None if reason is None else _storable(reason))


class _Form(NamedTuple):
    field: str | None
    reason: str | None
    grades: dict[str, bool]

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, form: str) -> Self:
        card = json.loads(form)
        return cls(card.get("field"), card.get("reason"), card["grades"])


def _graded(text: str, form: _Form) -> Verdict:
    # the grade is the whole text, or the field of the object that the whole text is
    reason = None
    if form.field is not None:
        fields = _object(text)
        text, given = _text_of(fields.get(form.field)), fields.get(form.reason or "")
        reason = _storable(given) if isinstance(given, str) else None
    grade = text.strip()
    if grade not in form.grades and grade in _TRUTHS:
        grade = grade.lower()
    if grade not in form.grades:
        return Verdict(None, None)
    return Verdict(form.grades[grade], reason, grade)


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else ""


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _object(text: str) -> dict[str, Any]:
    # each key once; empty where the text is anything else
    try:
        reply = _FIELDS.decode(text)
    except json.JSONDecodeError:
        return loose_object(text)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _without_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text)
    return text if fenced is None else fenced[1].strip()


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        message = "a key that stands twice"
        raise ValueError(message)
    return fields


_FIELDS = json.JSONDecoder(object_pairs_hook=_each_once, strict=False)  # replies have line breaks in their texts
_TRUTHS = {"true": True, "True": True, "false": False, "False": False}
_FENCED = re.compile(r"(?is)```(?:json|python)?+\s++(.*)```")
