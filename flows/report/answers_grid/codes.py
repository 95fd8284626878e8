"""Numbers that stand for things in a grid's content, which has each thing once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Codes:
    """Numbers for things, in the order in which they come, from 0; -1 for none."""

    def __init__(self, known: Sequence[Any] = ()) -> None:
        self._codes: dict[Any, int] = {thing: code for code, thing in enumerate(known)}

    def of(self, thing: Any) -> int:
        """Returns the number of a thing, which it has from then on."""
        return -1 if thing is None else self._codes.setdefault(thing, len(self._codes))

    @property
    def things(self) -> list[Any]:
        """Returns the things in the order of their numbers."""
        return list(self._codes)

    @property
    def numbers(self) -> Mapping[Any, int]:
        """Returns the number of each thing."""
        return self._codes
