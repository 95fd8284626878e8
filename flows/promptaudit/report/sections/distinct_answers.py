"""The section on how many different answers come back, by repetition and by paraphrase temperature."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.charts.curves import Axes, curves
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, counted, figure, table
from promptaudit.report.sections.extremes import known_rows, largest, whose
from promptaudit.report.sections.reasons import why_no_answers
from promptaudit.report.sections.room import Drawn, Room, charts_of_models, colour, point
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import number
from promptaudit.warehouse import Row

MART = "rpt_distinct_answers"
_MEANS = tuple(
    figure(heading, column, lambda of, name: of.cell(name, mean(of.row[name])))
    for heading, column in (("Distinct completions", "distinct_completions_mean"), ("Answers", "answers_mean"))
)
_ASKS = (MODEL, STRATEGY, Column("Repetition", lambda of: f"{of.row['repetition']}", is_figure=True), *_MEANS)
_WARM = (
    MODEL,
    STRATEGY,
    Column("Temperature", lambda of: f"{of.row['paraphrase_temperature']:g}", is_figure=True),
    counted("Variants", "n_variants"),
    *_MEANS,
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["distinct_answers"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        asks = [row for row in rows_of.get(task_id, []) if row["repetition"] is not None]
        warm = [row for row in rows_of.get(task_id, []) if row["repetition"] is None]
        if not asks and not warm:
            block.absent.append(why_no_answers(scored) or "No original wording was asked.")
            continue
        draw = partial(_curves, shown=colour(block, [*asks, *warm]))
        is_again = len({row["repetition"] for row in asks}) > 1
        charts = charts_of_models(asks, task_id, "by repetition", partial(draw, over="repetition")) if is_again else []
        over = "paraphrase_temperature"
        charts += charts_of_models(warm, task_id, "by paraphrase temperature", partial(draw, over=over))
        room.draw(block, charts)
        if asks:
            caption = "Distinct completions of the original wording, by repetition"
            block.tables.append(table(caption, _ASKS, asks, MART, most=room.n_rows))
        if warm:
            note = "Mean over the rephrased variants of a temperature and their asks."
            caption = "Distinct completions by paraphrase temperature"
            block.tables.append(table(caption, _WARM, warm, MART, note=note, most=room.n_rows))


def mean(value: float) -> str:
    """Returns a mean of counts as it is printed: whole where it is whole."""
    return number(value, 0 if value == int(value) else 1)


def _curves(rows: list[Row], who: str, *, shown: list[str], over: str) -> Drawn:
    points = [
        point(MART, row, "distinct_completions_mean", at=row[over], series=row["strategy"], n=row["answers_mean"])
        for row in rows
        if row["strategy"] in shown
    ]
    title = over.replace("_", " ")
    least, most = (mean(end(row["value"] for row in points)) for end in (min, max))
    span = least if least == most else f"{least} to {most}"
    label = f"{who}: distinct completions by {title}, {span} of {mean(max(row['n'] for row in points))} answers."
    fields = {"series": "strategy", "at": title, "value": "distinct completions", "n": "answers"}
    axes = Axes(x=title, y="distinct completions", ticks=sorted({row["at"] for row in points}))
    return span, curves(points, shown, axes, fields, label)


def _finding(data: ReportData) -> str:
    most = largest(known_rows(data, data["distinct_answers"], "distinct_completions_mean"), "distinct_completions_mean")
    if most is None:
        return ""
    n = number(most["distinct_completions_mean"], 0)
    return f"One ask of all samples brings up to {n} different completions, for {whose(most)}"


distinct_answers = Section(
    name="distinct_answers",
    title="Distinct answers",
    intro=(
        "This is how many different completions one ask of all samples brings back, taken verbatim. A task of six "
        "labels needs six; the others are answers in other words, or answers that are no label."
    ),
    fill=_fill,
    finding=_finding,
    queries=("distinct_answers",),
)
