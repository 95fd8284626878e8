"""Keeps the groups on which a `try_` function failed since they were last taken, with the first reason of each."""

from __future__ import annotations

from typing import NamedTuple

MAX_REASON = 2_000  # characters, before a message about it removes keys and shortens it


class Failure(NamedTuple):
    """A function that raised on a group; `group_keys` is SQL's name for the group."""

    function: str
    group_keys: str
    reason: str


_reasons: dict[tuple[str, str], str] = {}


def note(function: str, group_keys: str | None, error: Exception) -> None:
    """Notes that a function raised on a group, unless that is noted already."""
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_REASON]
    _reasons.setdefault((function, group_keys or "{}"), reason)


def take() -> list[Failure]:
    """Lists the failures in the order of functions and groups, and forgets them."""
    noted = sorted(_reasons.items())
    _reasons.clear()
    return [Failure(*of, reason) for of, reason in noted]
