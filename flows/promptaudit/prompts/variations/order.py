"""Orders a few things: one put first or last, all reversed, or shuffled by a seed."""

from __future__ import annotations

import hashlib

GOLD_FIRST, GOLD_LAST, REVERSED, SEEDED = "gold_first", "gold_last", "reversed", "seeded"
OF_GOLD = (GOLD_FIRST, GOLD_LAST)


def order_names(n: int, *, has_gold: bool) -> list[str]:
    """Names n orders: two by the gold label if there is one, the reversed one, then seeded ones."""
    fixed = [*(OF_GOLD if has_gold else ()), REVERSED]
    return [*fixed, *(f"{SEEDED} {seed}" for seed in range(1, n + 1))][:n]


def order_of(name: str, n: int, gold: int | None, *key: str) -> tuple[int, ...]:
    """Computes which of n things stands in each place, from 0; `key` names what is shuffled, so that shuffles differ.

    An order by the gold label leaves things as they are if there is no gold label.
    """
    places = range(n)
    if name == REVERSED:
        return tuple(reversed(places))
    if name in OF_GOLD:
        first = [] if gold is None else [gold]
        others = [place for place in places if place not in first]
        return tuple(first + others if name == GOLD_FIRST else others + first)
    return tuple(sorted(places, key=lambda place: _rank(name, *key, str(place))))


def _rank(*parts: str) -> bytes:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "backslashreplace")).digest()
