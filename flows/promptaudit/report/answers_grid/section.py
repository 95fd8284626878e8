"""Builds the section of a report with the answers grid: its packed answers, its script and its sentences."""

from __future__ import annotations

import base64
import bisect
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from promptaudit.report import page_size
from promptaudit.report.answers_grid.content import Drawn, GridContent, shown_content
from promptaudit.report.blocks.filters import Script, as_json, inline, rendered
from promptaudit.report.data import ReportData
from promptaudit.system.display.figures import count

BUDGET = 2_000_000  # characters of the page at most
MOST_SHOWN = 1_000_000  # characters at most of how samples were shown, where the page has room beside the answers
PROBED = 4_000  # answers, from which the size of all is estimated
PROBED_CELLS = 2_000
ROOM = 0.95  # of the budget, since an estimate misses
MOST_TRIES = 5

PLACE = "<!--answers-->"  # no text on a page can hold it: escaped text has no `<`
TEMPLATE = "answers_grid.html.j2"
SCRIPT = Path(__file__).with_name("grid.js")
"""The script that unpacks and draws the grid."""
BESIDE = 30_000  # characters of the section beside the packed answers, most of them its script
FINDING = "{n} answers, wordings by samples"
ALL = "All {of} answers are here, those to the samples whose answers differ most first."
PART = (
    "{n} of {of} answers are here, those to the samples whose answers differ most: the worst sample of each model, task and "
    "strategy, then the second of each, and so on."
)
NONE = "No answer has landed yet."
REST = "select * from marts.fct_predictions where audit_run_id = '{run}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersGrid:
    """The values that the template of the grid prints."""

    packed: Markup
    script: Script
    finding: str
    summary: str
    texts: str
    query: str  # that has every answer
    is_empty: bool


def answers_grid(data: ReportData, budget: int = BUDGET, room: int | None = None) -> AnswersGrid:
    """Builds the grid of a run with as many answers as fit `budget` characters.

    What the answers leave of `room`, or of the budget without a `room`, goes to how samples were shown, under variants
    that show each in its own way.
    """
    grid, long = data.answers, data.texts.long
    content, ranks = GridContent(data), grid.answers["rank"].to_list()

    def of(n_samples: int) -> Drawn:
        return content.of(n_samples, grid.answers.head(bisect.bisect_left(ranks, n_samples)))

    # the largest disagreement first; a sample has all answers of a group or none
    first = ranks[PROBED] + 1 if len(ranks) > PROBED else len(grid.samples)
    n_samples, deflated = _most(lambda n: of(n).content, first, len(grid.samples), budget)
    n_answers, shown = bisect.bisect_left(ranks, n_samples), ""
    if grid.shown:
        left, drawn = min(MOST_SHOWN, (budget if room is None else room) - len(deflated)), of(n_samples)
        n_cells = len(shown_content(grid, drawn, long)["sample"])
        _, shown = _most(lambda n: shown_content(grid, drawn, long, n), min(PROBED_CELLS, n_cells), n_cells, left)
    n_landed = sum(row["n_landed"] or 0 for row in data.scorecard)
    sentence = NONE if not n_answers else ALL if n_answers >= n_landed else PART
    return AnswersGrid(
        packed=as_json({"deflated": deflated, "shown": shown}),
        script=inline(SCRIPT),
        finding=(FINDING if n_answers else NONE).format(n=count(n_answers)),
        summary=sentence.format(n=count(n_answers), of=count(n_landed)),
        texts=data.texts.summary,
        query=REST.format(run=data.run["audit_run_id"]),
        is_empty=not n_answers,
    )


def filled_in(page: str, data: ReportData) -> str:
    """Puts the grid into the page, with as many answers as the page has room for."""
    room = max(0, page_size.PAGE_BYTES - len(page.encode()) - BESIDE)
    grid = answers_grid(data, min(BUDGET, room), room)
    return page.replace(PLACE, rendered(TEMPLATE, grid=grid), 1)


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
