"""Packs the answers of a grid into a page: as many as fit a budget, deflated."""

from __future__ import annotations

import base64
import bisect
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from promptaudit.report.answers_grid.content import Drawn, GridContent, ShownContent
from promptaudit.report.gather_answers import GridAnswers

BUDGET = 2_000_000  # characters of the page at most
MOST_SHOWN = 1_000_000  # characters at most of how samples were shown, where the page has room beside the answers
PROBED = 4_000  # answers, from which the size of all is estimated
PROBED_CELLS = 2_000
ROOM = 0.95  # of the budget, since an estimate misses
MOST_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Answers deflated and in base64, with the numbers of samples and answers in them.

    Each group counts its own samples.

    `shown`: how samples were shown under variants that show each in its own way.
    """

    deflated: str
    shown: str
    n_samples: int
    n_answers: int


def packed(grid: GridAnswers, content: GridContent, budget: int = BUDGET, room: int | None = None) -> Packed:
    """Packs as many answers as fit, the largest disagreement first.

    A sample has all answers of a group or none.

    How samples were shown gets what the answers leave of `room`, or of the budget without a `room`.
    """
    ranks = grid.answers["rank"].to_list()

    def of(n_samples: int) -> Drawn:
        return content.of(n_samples, grid.answers.head(bisect.bisect_left(ranks, n_samples)))

    first = ranks[PROBED] + 1 if len(ranks) > PROBED else len(grid.samples)
    n_samples, deflated = _most(lambda n: of(n).content, first, len(grid.samples), budget)
    left = min(MOST_SHOWN, (budget if room is None else room) - len(deflated))
    return Packed(
        deflated=deflated,
        shown=_shown(grid, content, of(n_samples), left) if grid.shown.cells else "",
        n_samples=n_samples,
        n_answers=bisect.bisect_left(ranks, n_samples),
    )


def _shown(grid: GridAnswers, content: GridContent, drawn: Drawn, budget: int) -> str:
    shown = ShownContent(grid, samples=drawn.samples, variants=drawn.variants, long=content.long)
    return _most(shown.of, min(PROBED_CELLS, len(shown)), len(shown), budget)[1]


def _most(of: Callable[[int], dict[str, Any]], n: int, most: int, budget: int) -> tuple[int, str]:
    # how many samples or cells fit, trying n first, and their content deflated and in base64
    for _ in range(MOST_TRIES):
        tried, text = n, _deflated(of(n))
        size = len(text)
        if size <= budget and (n == most or size >= budget * ROOM**2):
            return tried, text
        n = min(most, int(n * ROOM * max(0, budget) / size))
    while len(text) > budget and tried:
        tried //= 2
        text = _deflated(of(tried))
    return tried, text


def _deflated(content: dict[str, Any]) -> str:
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(text, 6)).decode()
