"""Renders the gathered figures as one self-contained HTML page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from promptaudit.registry.mart_columns import scorecard_columns
from promptaudit.report import page_size
from promptaudit.report.answers_grid import section as answers_grid
from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.blocks.filters import inline, rendered, trace_links
from promptaudit.report.contents import OF_JUDGES, OF_RUN, OF_TASKS
from promptaudit.report.data import ReportData
from promptaudit.report.page_size import only, parted
from promptaudit.report.sections import nights, run
from promptaudit.report.sections.scorecard import heat, samples, samples_finding
from promptaudit.report.sections.scoring import scoring
from promptaudit.report.sections.words import ends
from promptaudit.report.summary_worst import Worst
from promptaudit.system.display.figures import count, cut
from promptaudit.warehouse import Row

TEMPLATE = "report.html.j2"
SCRIPT = Path(__file__).with_name("report.js")
MOST_SCORECARD = 120
MOST_CAUSES = 5
LOOKED_AT = ("prompt_variants", "sensitivity", "sensitivity_by_class", "nights")
"""The sections whose findings stand on the first screen: wordings, samples, classes, nights.

All others but `LED_TO`, and what is worst, stand together in a fold.
"""
LED_TO = ("run_changes", "answer_formats", "wording_choices")
"""The sections that headings of the first screen link to: what changed, readers that differ, a better wording."""
SECTION_OF = {
    "sensitivity": "sensitivity",
    "accuracy_std_corrected": "scoring",
    "pss_inter": "stability_by_wording",
    "micro_f1": "accuracy_by_variant",
    "invalid_rate": "answer_formats",
}
"""Maps each measure to the section with the figure of the worst group."""


def render(data: ReportData, *, traces: frozenset[str] = frozenset()) -> str:
    """Renders the whole page as text.

    The template escapes, isolates and makes visible all data, never taking it as markup.

    For a run of many tasks the page has the charts and tables of the tasks whose answers depend most on the wording.
    traces: names of mart rows (`rpt_audit.4f1c2a9b0d3e`) that have a page at `traces/<run>/<row>.html`.
    """
    return _pages(data, traces, is_alone=True)[0]


def render_parts(data: ReportData, *, traces: frozenset[str] = frozenset()) -> list[str]:
    """Renders the report's page and, if there are many tasks, further pages. The pages link to each other."""
    return _pages(data, traces, is_alone=False)


def _pages(data: ReportData, traces: frozenset[str], *, is_alone: bool) -> list[str]:
    # a page that stands alone leaves out what the others have
    content = sections(data)
    pages: list[str] = []
    for most in page_size.fewer(page_size.MOST_GROUPS):
        tasks_of, pages = _parts(data, content, most), []
        rows: Sequence[int] = page_size.ROWS
        is_parted = len(tasks_of) > 1
        n_left_out = sum(map(len, tasks_of[1:])) if is_alone else 0
        for place, tasks in enumerate(tasks_of[:1] if is_alone else tasks_of, start=1):
            part = Part(place, tasks_of) if is_parted and not is_alone else None
            own = content.of(tasks if is_parted else None)
            draw = partial(_rendered, data, own, traces, part=part, n_left_out=n_left_out)
            page, n = page_size.drawn_to_fit(draw, rows)
            rows = tuple(each for each in rows if each <= n)  # all pages are much alike
            pages.append(page)
        if all(map(page_size.fits, pages)):
            break
    return [answers_grid.filled_in(pages[0], data), *pages[1:]]


def _parts(data: ReportData, content: Content, most: int) -> list[frozenset[str]]:
    # blocks of the whole run, or of a task that the scorecard lacks, stand on the first page
    first, *others = parted(data.scorecard, {row["model_id"] for row in data.references}, most)
    known = first.union(*others)
    rest = frozenset(block.task_id for section in content.measured for block in section.blocks) - known
    return [first | rest, *others]


def _rendered(
    data: ReportData,
    content: Content,
    traces: frozenset[str],
    most_rows: int,
    *,
    part: Part | None = None,
    n_left_out: int = 0,
) -> str:
    is_first = part is None or part.place == 1
    others = content.others if is_first else content.measured
    # those that the first screen leads to stand by themselves
    led_to = {*LOOKED_AT, *LED_TO, _section_of(data.summary.worst)}
    aside = [section for section in others if is_first and section.anchor not in led_to]
    shown = [section for section in others if section not in aside]
    return rendered(
        TEMPLATE,
        trace=trace_links(data.run["audit_run_id"], traces),
        run=data.run,
        part=part,
        is_first=is_first,
        most_rows=most_rows,
        n_left_out=n_left_out,
        data=data,
        section_of_worst=_section_of(data.summary.worst),
        looked_at=_looked_at([*content.first, *content.others]),
        anchors={"scorecard", "samples", *(each.anchor for each in (*content.first, *content.others))},
        most_causes=MOST_CAUSES,
        heat=heat(data),
        scorecard=_scorecard(data),
        scorecard_measures=[column for column in scorecard_columns() if column.scorecard is not None],
        scope=scope(data),
        finding_of={"scorecard": _scorecard_finding(data), "samples": samples_finding(data), "run": run.line(data)},
        first=content.first,
        sections=shown,
        aside=aside,
        samples=samples(data),
        gate=nights.format_gate.drawn(data),
        grid_script=inline(answers_grid.SCRIPT),
        facts=run.facts(data),
        identity_tables=run.tables(data),
        measures=content.measures,
        tracing=run.TRACING,
        script=inline(SCRIPT),
    )


def _section_of(worst: Worst | None) -> str:
    if worst is None or worst.field is not None:
        return "fields"
    return "run_changes" if worst.before is not None else SECTION_OF.get(worst.measure, "scorecard")


def _looked_at(shown: Sequence[DrawnSection]) -> list[DrawnSection]:
    found = {each.anchor: each for each in shown if each.finding and not all(block.is_absent for block in each.blocks)}
    return [found[anchor] for anchor in LOOKED_AT if anchor in found]


def _scorecard(data: ReportData) -> list[Row]:
    # the rows whose answers depend most on the wording, in their original order
    references = data.reference_models
    ranked = sorted(data.scorecard, key=lambda row: (row["model_id"] in references, -(row["sensitivity"] or 0.0)))
    kept = {id(row) for row in ranked[:MOST_SCORECARD]}
    return [row for row in data.scorecard if id(row) in kept]


def _scorecard_finding(data: ReportData) -> str:
    return ends(data, "Sensitivity", data.scorecard, "sensitivity")


@dataclass(frozen=True, slots=True)
class Part:
    """One of the report's pages: its place, from 1, and the tasks of each page."""

    place: int
    tasks: list[frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The sections of a report, before and after the scorecard, and the measures that they print."""

    first: list[DrawnSection]
    of_run: list[DrawnSection]
    measured: list[DrawnSection]
    measures: tuple[run.Measure, ...]

    def of(self, tasks: frozenset[str] | None) -> Content:
        """Keeps only the measured sections' blocks on these tasks; None: on all."""
        return self if tasks is None else dataclasses.replace(self, measured=only(self.measured, tasks))

    @property
    def others(self) -> list[DrawnSection]:
        """All sections after the scorecard."""
        return [*self.of_run, *self.measured]


def sections(data: ReportData) -> Content:
    """Draws every section that has a chart or a table of figures, in the page's order."""
    of_run = {section.name: section.drawn(data) for section in OF_RUN}
    of_run = {name: section for name, section in of_run.items() if section.blocks}
    measures = (
        *run.measures(),
        *(run.NIGHTS if nights.nights.name in of_run else ()),
        *(run.SCORING if any(section.name in of_run for section in OF_JUDGES) else ()),
    )
    # what a run with judges was made for stands before the scorecard
    names = [nights.gate_rules.name, *([scoring.name] if data.judging.comparisons else [])]
    first = [of_run.pop(name) for name in names if name in of_run]
    measured = [(section, section.drawn(data)) for section in OF_TASKS]
    return Content(
        first=first,
        of_run=list(of_run.values()),
        measured=[drawn for section, drawn in measured if drawn.blocks or not section.is_optional],
        measures=measures,
    )


def scope(data: ReportData) -> list[str]:
    """Says in a few sentences what was asked and how much came back."""
    card: list[Row] = data.scorecard
    if not card:
        return ["Nothing of this run has been measured yet."]

    def several(column: str, word: str, words: str) -> str:
        n = len({row[column] for row in card})
        return f"{n} {word if n == 1 else words}"

    planned, landed = (sum(row[f"n_{what}"] or 0 for row in card) for what in ("planned", "landed"))
    most, repetitions = max(row["n_variants"] for row in card), max(row["n_repetitions"] or 1 for row in card)
    frequency = "asked once" if repetitions == 1 else f"asked up to {repetitions} times"
    variants = "one prompt variant" if most == 1 else f"up to {most} prompt variants"
    tasks, strategies = several("task_id", "task", "tasks"), several("strategy", "strategy", "strategies")
    out = [f"{several('model_id', 'model', 'models')}, {tasks} and {strategies}; {variants}, {frequency}."]
    out.append(f"{count(landed)} of {count(planned)} planned answers landed.")
    if data.run["state"] != "complete":
        out.append(f"The run is marked {cut(data.run['state'], 20)}.")
    return out
