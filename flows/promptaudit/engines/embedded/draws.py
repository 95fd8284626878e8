"""Draws by what is asked and nothing else: not by order, process or time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii
from typing import TypeVar

T = TypeVar("T")


def uniform(*parts: str | int) -> float:
    """Draws a number in [0, 1), the same for equal parts on every machine; any text is a part, lone surrogates too."""
    return _share(hashlib.blake2b(f"[{', '.join(map(_as_json, parts))}]".encode(), digest_size=8).digest())


def uniform_after(*first: str | int) -> Callable[[int, int], float]:
    """Fixes the first parts of `uniform`, two more numbers follow; many draws take a third of the time."""
    begun = hashlib.blake2b(f"[{', '.join(map(_as_json, first))}".encode(), digest_size=8)

    def drawn(one: int, other: int) -> float:
        digest = begun.copy()
        digest.update(b", %d, %d]" % (one, other))
        return _share(digest.digest())

    return drawn


def _share(digest: bytes) -> float:
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def _as_json(part: str | int) -> str:
    # `json.dumps` gives the same and takes three times as long for a list of few parts
    if type(part) is str:
        return encode_basestring_ascii(part)
    return repr(part) if type(part) is int else json.dumps(part)


def choice(items: Sequence[T], *parts: str | int) -> T:
    """Draws one of `items`, each as likely; raises IndexError when there are none."""
    return items[int(uniform(*parts) * len(items))]
