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
from promptaudit.report.blocks.filters import environment
from promptaudit.report.data import ReportData
from promptaudit.report.gather_answers import GridAnswers
from promptaudit.report.inline_script import Script, as_json, inline
from promptaudit.system.display.figures import count
from promptaudit.system.display.policy import Texts

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

    What is left of `room` goes to how samples were shown, under variants that show each in its own way.
    """
    content = GridContent(
        data.answers,
        audit_run_id=data.run["audit_run_id"],
        tasks=data.tasks,
        scorecard=data.scorecard,
        texts=data.texts,
        references={row["model_id"] for row in data.references},
    )
    grid = packed(data.answers, content, data.texts, budget, room)
    n_landed = sum(row["n_landed"] or 0 for row in data.scorecard)
    sentence = NONE if not grid.n_answers else ALL if grid.n_answers >= n_landed else PART
    return AnswersGrid(
        packed=as_json({"deflated": grid.deflated, "shown": grid.shown}),
        script=inline(SCRIPT),
        finding=(FINDING if grid.n_answers else NONE).format(n=count(grid.n_answers)),
        summary=sentence.format(n=count(grid.n_answers), of=count(n_landed)),
        texts=data.texts.summary,
        query=REST.format(run=data.run["audit_run_id"]),
        is_empty=not grid.n_answers,
    )


def filled_in(page: str, data: ReportData) -> str:
    """Puts the grid into the page, with as many answers as the page has room for."""
    room = max(0, page_size.PAGE_BYTES - len(page.encode()) - BESIDE)
    grid = answers_grid(data, min(BUDGET, room), room)
    section = environment(Path(__file__).parents[1]).get_template(TEMPLATE).render(grid=grid)
    return page.replace(PLACE, section, 1)


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


def packed(grid: GridAnswers, content: GridContent, texts: Texts, budget: int, room: int | None = None) -> Packed:
    """Packs as many answers as fit, the largest disagreement first.

    A sample has all answers of a group or none.

    How samples were shown gets what the answers leave of `room`, or of the budget without a `room`.
    """
    ranks = grid.answers["rank"].to_list()

    def of(n_samples: int) -> Drawn:
        return content.of(n_samples, grid.answers.head(bisect.bisect_left(ranks, n_samples)))

    first = ranks[PROBED] + 1 if len(ranks) > PROBED else len(grid.samples)
    n_samples, deflated = _most(lambda n: of(n).content, first, len(grid.samples), budget)
    shown = ""
    if grid.shown:
        left, drawn = min(MOST_SHOWN, (budget if room is None else room) - len(deflated)), of(n_samples)
        n_cells = len(shown_content(grid, drawn, texts.long)["sample"])
        _, shown = _most(lambda n: shown_content(grid, drawn, texts.long, n), min(PROBED_CELLS, n_cells), n_cells, left)
    n_answers = bisect.bisect_left(ranks, n_samples)
    return Packed(deflated=deflated, shown=shown, n_samples=n_samples, n_answers=n_answers)


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
