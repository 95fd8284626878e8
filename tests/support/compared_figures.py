"""Figures that are held against others, with the columns that a test names; every other is NULL."""

from __future__ import annotations

from typing import TypeVar

from promptaudit.system.display.compared import Compared

Figure = TypeVar("Figure", bound=Compared)


def figure(kind: type[Figure], **columns: object) -> Figure:
    """A figure of this kind."""
    return kind.of(dict.fromkeys(kind.__dataclass_fields__) | columns)
