"""Draws that depend on what is asked and on nothing else: not on order, process or time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def uniform(*parts: str | int) -> float:
    """Returns a number in [0, 1), the same for equal parts on every machine; any text is a part, lone surrogates too."""
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def choice(items: Sequence[T], *parts: str | int) -> T:
    """Returns one of `items`, each as likely; raises IndexError when there are none."""
    return items[int(uniform(*parts) * len(items))]
