"""Tables of a run that have one wording of each family of near-duplicates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MOST_TURNS = 5
"""Tables of one wording a family whose components are averaged."""


def one_wording_a_family(
    wording: NDArray[np.int64], family: NDArray[np.int64] | None
) -> Iterator[NDArray[np.bool_] | slice]:
    """Yields which rows have the chosen wordings, one a family, each wording of a family being chosen in turn.

    Wordings of one family answer almost alike, so that a table of all of them shows too little of what wordings vary. A table of
    one a family is what a design of so many unlike wordings would have given; the components are means over such tables.

    Args:
        wording: shape (n,), codes.
        family: shape (n,), code of the wording's family; None: each wording is one of its own.

    Yields:
        As many as the largest family has wordings, at most 5: the slice of all rows where no family has two.
    """
    if family is None:
        yield slice(None)
        return
    names, first = np.unique(wording, return_index=True)
    members = [names[family[first] == each] for each in np.unique(family)]
    most = max(map(len, members), default=1)
    if most == 1:
        yield slice(None)
        return
    for turn in range(min(MOST_TURNS, most)):
        yield np.isin(wording, [own[turn % len(own)] for own in members])
