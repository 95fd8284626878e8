"""Splits the columns of a table by width: those that do not fit go into a further table, none is dropped."""

from __future__ import annotations

from collections.abc import Sequence


def parts_of(widths: Sequence[int], width: int, *, first: int = 0, gap: int = 1) -> list[list[int]]:
    """Lists the indices of the columns of each table, in order; at least one per table, however narrow `width` is.

    `first` is the width of what stands before the columns of each table, `gap` what each column takes beside its own
    width.
    """
    parts: list[list[int]] = [[]]
    used = first
    for index, needed in enumerate(widths):
        if parts[-1] and used + needed + gap > width:
            parts.append([])
            used = first
        parts[-1].append(index)
        used += needed + gap
    return parts
