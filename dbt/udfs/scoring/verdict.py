"""Verdict reader (being written)."""

from __future__ import annotations

import json
from typing import NamedTuple

VERSION: int = 1
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "match": {"type": "boolean"}},
        "required": ["reason", "match"],
        "additionalProperties": False,
    }
)


class Verdict(NamedTuple):
    """What a judge ruled."""

    is_match: bool | None
    reason: str | None


def read_verdict(completion: str | None) -> Verdict:
    """The verdict of a reply."""
    try:
        found = json.loads(completion or "")
    except (ValueError, RecursionError):
        return Verdict(None, None)
    if not isinstance(found, dict) or not isinstance(found.get("match"), bool):
        return Verdict(None, None)
    return Verdict(found["match"], str(found.get("reason")))
