"""Turns arbitrary integer codes (hashes, -1, gaps) into 0..n-1, for use as indices, and splits them into blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

WholeNumbers = NDArray[np.integer[Any]]
"""An array of integers of any size in memory."""
Whole = TypeVar("Whole", bound=np.integer[Any])

# A lookup table over the range of the codes beats sorting (3 ms against 90 ms for a million codes) while it stays
# of the order of the data; hashes fall through to the sort.
_TABLE_CELLS_PER_CODE = 8
_SMALLEST_TABLE = 1 << 16

BLOCK = 1 << 20
"""A measure that needs more memory per entry than its result processes so many entries at once, 8 MB an array."""


def dense_codes(codes: NDArray[Whole], valid: NDArray[np.bool_] | None = None) -> tuple[NDArray[Whole], NDArray[Whole]]:
    """Numbers the distinct values from 0 in ascending order, NULL last, and lists the distinct values.

    Args:
        codes: shape (n,), any values.
        valid: shape (n,); False marks NULL, whose code is then ignored. None means no NULL.

    Returns:
        The number of each entry, shape (n,), and the distinct codes in order, shape (n_distinct,). Where NULL occurs
        its number is n_distinct, and the distinct codes do not list it. Both are of the type of `codes`, and the
        numbers may be
        `codes` itself: do not write to them.
    """
    if valid is not None and not valid.all():
        dense = np.empty(len(codes), codes.dtype)
        dense[valid], distinct = dense_codes(codes[valid])
        dense[~valid] = len(distinct)
        return dense, distinct
    if len(codes) == 0:
        return codes, codes
    low, high = int(codes.min()), int(codes.max())
    if high - low < max(_SMALLEST_TABLE, _TABLE_CELLS_PER_CODE * len(codes)):
        shifted = codes - low if low else codes
        seen = np.zeros(high - low + 1, np.bool_)
        seen[shifted] = True
        if seen.all():  # dense but for where they begin: at ten million codes each array counts
            return shifted, np.arange(low, high + 1, dtype=codes.dtype)
        number: NDArray[Any] = np.cumsum(
            seen, dtype=np.int32 if high - low < 2**31 - 1 else np.int64
        )  # this table is the largest array
        number -= 1
        return number[shifted].astype(codes.dtype), (np.flatnonzero(seen) + low).astype(codes.dtype)
    distinct, dense = np.unique(codes, return_inverse=True)
    return dense.astype(codes.dtype, copy=False), distinct


def parts_of(n: int, n_each: int = 1) -> list[slice]:
    """Splits n rows of `n_each` entries into parts of BLOCK entries, or of one row where it has more."""
    step = max(1, BLOCK // max(1, n_each))
    return [slice(start, start + step) for start in range(0, n, step)]


def blocks_of(codes: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.int64] | slice]]:
    """Yields parts of the codes, whole codes at a time and some BLOCK entries each, or a single code where it has more.

    Args:
        codes: shape (n,), dense codes, n > 0.

    Yields:
        The range of codes, and the places of their entries, in order.

    Example:
        >>> list(blocks_of(np.array([0, 1, 1])))
        [(slice(0, 2, None), slice(None, None, None))]
    """
    ends = np.cumsum(np.bincount(codes))
    if len(codes) <= BLOCK:
        yield slice(0, len(ends)), slice(None)
        return
    bounds = np.unique([0, *np.searchsorted(ends, np.arange(BLOCK, len(codes), BLOCK)), len(ends)]).tolist()
    for first, last in itertools.pairwise(bounds):
        yield slice(first, last), np.flatnonzero((codes >= first) & (codes < last))


def are_one_to_one(first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    """Tests whether two dense codes of the same entries split them alike: each code of one matches one of the other."""
    n = int(first.max()) + 1
    if n != int(second.max()) + 1:
        return False
    other = np.zeros(n, np.int64)
    other[first] = second
    return bool(np.array_equal(other[first], second)) and len(np.unique(other)) == n
