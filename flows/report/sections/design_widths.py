"""The section on how much is enough: the widths of intervals that other designs of an audit are expected to give."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from promptaudit.flows.display.figures import NAME, count, cut, number
from promptaudit.flows.report.blocks.blocks import DrawnSection, by
from promptaudit.flows.report.blocks.cells import Printed, Traced
from promptaudit.flows.report.charts.widths import widths
from promptaudit.flows.report.data import ReportData
from promptaudit.flows.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, Column, counted, figure, table, words
from promptaudit.flows.report.sections.extremes import known_rows, largest, whose
from promptaudit.flows.report.sections.reasons import why_no_answers, why_open
from promptaudit.flows.report.sections.room import Chart, Drawn, Room, charts_of_models, colour, point
from promptaudit.flows.report.sections.section import Section
from promptaudit.flows.warehouse import Row

MART = "rpt_design_widths"
FEWEST_SAMPLES, FEWEST_WORDINGS, FEWEST_FAMILIES = 20, 8, 5
"""Of a run that has a curve, as udfs.designs has them: importing these would load scipy for three numbers."""

_MEASURES = {"sensitivity": "sensitivity", "micro_f1": "micro-F1"}
_FIELDS = {
    "series": "strategy",
    "requests": "requests",
    "value": "width",
    "samples": "samples",
    "wordings": "wordings",
}


def _design(of: Traced) -> Printed:
    return "this run" if of.row["is_this_run"] else "least"


def _wordings(of: Traced) -> Printed:
    """Returns how many wordings each sample is asked under, with their number behind it where that is another."""
    if of.row["wordings_per_sample"] is None:
        return of.count("n_wordings")
    return of.count("wordings_per_sample"), " of ", of.count("n_wordings")


_COLUMNS = (
    MODEL,
    STRATEGY,
    words("Measure", "measure_name"),
    Column("Design", _design),
    N_SAMPLES,
    Column("Wordings", _wordings, is_figure=True),
    counted("Asks", "n_repetitions"),
    counted("Requests", "n_requests"),
    figure("Cost", "cost_usd", Traced.usd),
    figure("Width", "width"),
    figure("60 wordings leave", "least_width"),
    figure("Difference that is found", "detectable_difference"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["design_widths"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows = [{**row, "measure_name": _MEASURES[row["measure"]]} for row in rows_of.get(task_id, ())]
        if not rows:
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or _why_none(scored))
            continue
        room.draw(block, _charts(rows, task_id, colour(block, rows)))
        block.tables.append(table("Designs by width", _COLUMNS, rows, MART, most=room.n_rows))


def _why_none(scored: Sequence[Row]) -> str:
    """Why a task with answers has no curve; `scored` are its rows of the scorecard."""
    if all(row["sensitivity"] is None and row["micro_f1"] is None for row in scored):
        return "Neither micro-F1 nor sensitivity is measured here."
    return (
        f"It takes {FEWEST_SAMPLES} samples under {FEWEST_WORDINGS} wordings, {FEWEST_FAMILIES} of them no near-duplicates, "
        "to see how answers vary."
    )


def _charts(rows: list[Row], task_id: str, shown: Sequence[str]) -> list[Chart]:
    """Returns a chart a model and measure, model by model."""
    charts = []
    for measure, name in _MEASURES.items():
        known = [row for row in rows if row["measure"] == measure and row["strategy"] in shown and row["width"] > 0]
        charts += charts_of_models(known, task_id, name, partial(_curve, measure=name, shown=shown))
    return sorted(charts, key=lambda chart: chart.name)


def _curve(rows: list[Row], who: str, *, measure: str, shown: Sequence[str]) -> Drawn:
    points = [
        point(
            MART,
            row,
            "width",
            series=row["strategy"],
            requests=row["n_requests"],
            samples=row["n_samples"],
            wordings=row["n_wordings"],
            is_this_run=row["is_this_run"],
        )
        for row in rows
    ]
    told = "; ".join(f"{cut(name, NAME)} {_told(own)}" for name, own in by(points, "series").items())
    return "", widths(points, shown, _FIELDS, f"{who}: width of the interval of {measure} by requests: {told}.")


def _told(points: Sequence[Row]) -> str:
    """Returns a curve in words: the run, then both ends of the least designs."""
    texts = [f"this run {_at(row)}" for row in points if row["is_this_run"]]
    least = [row for row in points if not row["is_this_run"]]
    if least:
        ends = (least[0],) if len(least) == 1 else (least[0], least[-1])
        texts.append(f"least designs {' to '.join(map(_at, ends))}")
    return ", ".join(texts)


def _at(row: Row) -> str:
    return f"{number(row['value'])} with {count(row['requests'])}"


def _finding(data: ReportData) -> str:
    rows = [
        row
        for row in known_rows(data, data["design_widths"], "width")
        if row["is_this_run"] and row["measure"] == "sensitivity"
    ]
    widest = largest(rows, "width")
    return (
        ""
        if widest is None
        else f"Intervals of sensitivity are up to {number(widest['width'])} wide, for {whose(widest)}"
    )


design_widths = Section(
    name="design_widths",
    title="How much is enough",
    intro=(
        "This is the width that other designs are expected to give to the 95 % interval for other samples and "
        "other wordings, given how this run's answers vary. Lines join the designs with the fewest requests "
        "that ask every sample under every wording; the diamond is this run. A cell is asked once; for sensitivity "
        "it is asked as often as in this run. Only wordings that are unlike each other count, since "
        "near-duplicates add requests and hardly narrow an interval. promptaudit plan --target-width plans for all "
        "models of an audit together."
    ),
    fill=_fill,
    finding=_finding,
    queries=("design_widths",),
)
