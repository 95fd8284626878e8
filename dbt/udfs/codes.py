"""Turns arbitrary integer codes (hashes, -1, gaps) into 0..n-1, so that arrays can be indexed by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A lookup table over the range of the codes beats sorting (3 ms against 90 ms for a million codes) while it stays
# of the order of the data; hashes fall through to the sort.
_TABLE_CELLS_PER_CODE = 8
_SMALLEST_TABLE = 1 << 16


def dense_codes(
    codes: NDArray[np.int64], valid: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns dense codes of values and the distinct values: numbered from 0 in ascending order, NULL last.

    Args:
        codes: shape (n,), any int64 values.
        valid: shape (n,); False marks NULL, whose code is then not looked at. None means no NULL.

    Returns:
        The number of each entry, shape (n,), and the distinct codes in order, shape (n_distinct,). Where NULL occurs
        its number is n_distinct, and the distinct codes do not list it. The numbers may be `codes` itself: nobody writes to them.
    """
    if valid is not None and not valid.all():
        dense = np.empty(len(codes), np.int64)
        dense[valid], distinct = dense_codes(codes[valid])
        dense[~valid] = len(distinct)
        return dense, distinct
    if len(codes) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(codes.min()), int(codes.max())
    if high - low < max(_SMALLEST_TABLE, _TABLE_CELLS_PER_CODE * len(codes)):
        shifted = codes - low if low else codes
        seen = np.zeros(high - low + 1, np.bool_)
        seen[shifted] = True
        if seen.all():  # dense but for where they begin: at ten million codes each array counts
            return shifted, np.arange(low, high + 1)
        number: NDArray[Any] = np.cumsum(
            seen, dtype=np.int32 if high - low < 2**31 - 1 else np.int64
        )  # the table is the largest of all
        number -= 1
        return number[shifted].astype(np.int64), np.flatnonzero(seen) + low
    distinct, dense = np.unique(codes, return_inverse=True)
    return dense.astype(np.int64, copy=False), distinct
