"""Packs the answers of a grid into a page: as many as fit a budget, deflated."""

from __future__ import annotations

import base64
import bisect
import json
import zlib
from dataclasses import dataclass

from flows.report.answers_grid.content import GridContent
from flows.report.gather_answers import GridAnswers

BUDGET = 2_000_000  # characters of the page at most
PROBED = 4_000  # answers, from which the size of all is estimated
ROOM = 0.95  # of the budget, since an estimate misses
MOST_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Packed answers, deflated and in base64; how many samples, each in each group, and how many answers they are."""

    deflated: str
    n_samples: int
    n_answers: int


def packed(grid: GridAnswers, content: GridContent, budget: int = BUDGET) -> Packed:
    """Returns as many answers as fit, the largest disagreement first; a sample has all of a group's answers or none."""
    ranks = grid.answers["rank"].to_list()

    def of(n_samples: int) -> Packed:
        n_answers = bisect.bisect_left(ranks, n_samples)
        text = json.dumps(
            content.of(n_samples, grid.answers.head(n_answers)), allow_nan=False, separators=(",", ":")
        ).encode()
        return Packed(
            deflated=base64.b64encode(zlib.compress(text, 6)).decode(), n_samples=n_samples, n_answers=n_answers
        )

    most = len(grid.samples)
    n = ranks[PROBED] + 1 if len(ranks) > PROBED else most
    for _ in range(MOST_TRIES):
        tried = of(n)
        size = len(tried.deflated)
        if size <= budget and (n == most or size >= budget * ROOM**2):
            return tried
        n = min(most, int(n * ROOM * budget / size))
    while len(tried.deflated) > budget and tried.n_samples:
        tried = of(tried.n_samples // 2)
    return tried
