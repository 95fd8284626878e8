"""Reads a judge's ruling from its reply. A reply that is not exactly one JSON object is no verdict.

A judge reads the text it rules on, and that text may hold a verdict in the judge's own format. So prose is never searched, of
two objects or two equal keys neither is preferred, and only a JSON boolean counts as a boolean.
"""

from __future__ import annotations

import ast
import functools
import json
import warnings
from typing import Any, NamedTuple, NoReturn, Self

from udfs.reasoning import parted

VERSION: int = 1

SCHEMA: str = json.dumps(
    {
        "type": "object",
        # in this order: a model that is held to it gives its reason before it rules
        "properties": {"reason": {"type": "string"}, "match": {"type": "boolean"}},
        "required": ["reason", "match"],
        "additionalProperties": False,
    }
)
"""The JSON schema a judge's reply is asked to keep."""

MAX_READ_CHARACTERS = 1_000_000
"""A longer reply is no verdict: cut, it would be no JSON."""


MAX_PYTHON_CHARACTERS = 100_000
"""A longer reply in Python's notation is not looked at."""


class Verdict(NamedTuple):
    """A ruling: whether the judged text matches (None where the reply is no verdict), and the judge's reason, if it gave one."""

    is_match: bool | None
    reason: str | None
    grade: str | None = None  # as the judge wrote it, where its card names grades


def read_verdict(completion: str | None, form: str | None = None) -> Verdict:
    """Returns the verdict in a reply; without a form, an object with a boolean `match` and, at most, a string `reason`.

    A reasoning block before it, white space around it and one fence (```json or ```, on lines of their own) are taken off.
    Anything more makes it no verdict: prose, a second object, another key or one that is there twice, "true" or 1 for true,
    no strict JSON. A lone surrogate in the reason becomes a question mark, since no column of text can hold it.
    """
    if completion is None or len(completion) > MAX_READ_CHARACTERS:
        return Verdict(None, None)
    text = _without_fence(parted(completion).answer.strip())
    if form is not None:
        return _graded(text, _Form.of(form))
    try:
        reply = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return Verdict(None, None)
    if not isinstance(reply, dict):
        return Verdict(None, None)
    is_match, reason = reply.get("match"), reply.get("reason", "")
    if not isinstance(is_match, bool) or not isinstance(reason, str):
        return Verdict(None, None)
    return Verdict(is_match, reason.encode("utf-8", "replace").decode() if "reason" in reply else None)


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
    """The grade that the whole text is, or that the object holds which the whole text is, as JSON or as a Python dict."""
    reason = None
    if form.field is not None:
        fields = _object(text)
        found, given = fields.get(form.field), fields.get(form.reason or "")
        text = str(found).lower() if isinstance(found, bool) else found if isinstance(found, str) else ""
        reason = given.encode("utf-8", "replace").decode() if isinstance(given, str) else None
    grade = text.strip()
    if grade not in form.grades:
        return Verdict(None, None)
    return Verdict(form.grades[grade], reason, grade)


def _object(text: str) -> dict[str, Any]:
    """The fields of one object, each key once; none where the text is anything else."""
    try:
        reply = _FIELDS.decode(text)
    except (ValueError, RecursionError):
        return _python_dict(text)
    return reply if isinstance(reply, dict) else {}


def _python_dict(text: str) -> dict[str, Any]:
    """The same of a dict in Python's notation, whose values are plain constants; nothing of it is evaluated."""
    if len(text) > MAX_PYTHON_CHARACTERS:
        return {}
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    if not isinstance(tree, ast.Dict):
        return {}
    fields = {
        key.value: value.value
        for key, value in zip(tree.keys, tree.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(value, ast.Constant)
    }
    return fields if len(fields) == len(tree.keys) else {}


def _without_fence(text: str) -> str:
    opening, _, rest = text.partition("\n")
    is_fenced = opening.rstrip() in {"```", "```json"} and rest.endswith("```")
    return rest.removesuffix("```") if is_fenced else text


def _only_a_verdict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs) or not fields.keys() <= {"match", "reason"}:
        message = "keys of no verdict"
        raise ValueError(message)
    return fields


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        message = "a key that stands twice"
        raise ValueError(message)
    return fields


def _refuse(_: str) -> NoReturn:
    message = "a number, which no verdict has"
    raise ValueError(message)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_only_a_verdict, parse_int=_refuse, parse_float=_refuse, parse_constant=_refuse
)
_FIELDS = json.JSONDecoder(object_pairs_hook=_each_once)
