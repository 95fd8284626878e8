"""Builds the section of a report with the answers grid: its packed answers, its script and its sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from promptaudit.report import page_size
from promptaudit.report.answers_grid.content import GridContent
from promptaudit.report.answers_grid.pack import BUDGET, packed
from promptaudit.report.blocks.filters import environment
from promptaudit.report.data import ReportData
from promptaudit.report.inline_script import Script, as_json, inline
from promptaudit.system.display.figures import count

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
    grid = packed(data.answers, content, budget, room)
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
