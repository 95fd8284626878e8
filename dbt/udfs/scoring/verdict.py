"""Reads a judge's ruling from its reply. A reply that is not exactly one JSON object is no verdict.

A judge reads the text it rules on, and that text may hold a verdict in the judge's own format. So prose is never searched, of
two objects or two equal keys neither is preferred, and only a JSON boolean counts as a boolean.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NoReturn

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


class Verdict(NamedTuple):
    """A ruling: whether the judged text matches (None where the reply is no verdict), and the judge's reason, if it gave one."""

    is_match: bool | None
    reason: str | None


def read_verdict(completion: str | None) -> Verdict:
    """Returns the verdict in a reply: an object with a boolean `match` and, at most, a string `reason`.

    A reasoning block before it, white space around it and one fence (```json or ```, on lines of their own) are taken off.
    Anything more makes it no verdict: prose, a second object, another key or one that is there twice, "true" or 1 for true,
    no strict JSON. A lone surrogate in the reason becomes a question mark, since no column of text can hold it.
    """
    if completion is None or len(completion) > MAX_READ_CHARACTERS:
        return Verdict(None, None)
    try:
        reply = _DECODER.decode(_without_fence(parted(completion).answer.strip()))
    except (ValueError, RecursionError):
        return Verdict(None, None)
    if not isinstance(reply, dict):
        return Verdict(None, None)
    is_match, reason = reply.get("match"), reply.get("reason", "")
    if not isinstance(is_match, bool) or not isinstance(reason, str):
        return Verdict(None, None)
    return Verdict(is_match, reason.encode("utf-8", "replace").decode() if "reason" in reply else None)


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


def _refuse(_: str) -> NoReturn:
    message = "a number, which no verdict has"
    raise ValueError(message)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_only_a_verdict, parse_int=_refuse, parse_float=_refuse, parse_constant=_refuse
)
