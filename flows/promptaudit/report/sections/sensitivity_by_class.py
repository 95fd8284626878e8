"""The section on sensitivity by gold class: which labels depend on the wording, under which strategy."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.charts import samples as charts
from promptaudit.report.charts.panels import MOST_BARS
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, figure, table, words
from promptaudit.report.sections.extremes import class_of, known_rows, largest, whose
from promptaudit.report.sections.reasons import why_one_variant, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_models, colour
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

MART = "rpt_class_sensitivities"
# what a chart draws: heading, column
_QUANTILES = {
    "low": ("5 %", "sensitivity_p05"),
    "lower": ("Lower quartile", "sensitivity_p25"),
    "median": ("Median", "sensitivity_p50"),
    "upper": ("Upper quartile", "sensitivity_p75"),
    "high": ("95 %", "sensitivity_p95"),
}
_COLUMNS = (
    MODEL,
    STRATEGY,
    words("Gold label", "gold_label"),
    N_SAMPLES,
    *(figure(*own) for own in _QUANTILES.values()),
    figure("Mean", "sensitivity_mean"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["sensitivity_by_class"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows = rows_of.get(task_id)
        if not rows:
            no_gold = "No sample of this task has a gold label, so there are no classes."
            is_measured = any(row["task_id"] == task_id for row in data["sensitivity"])
            absent = no_gold if is_measured else why_one_variant(scored, "sensitivity")
            block.absent.append(why_open(data, task_id) or absent)
            continue
        draw = partial(_boxes, shown=colour(block, rows))
        room.draw(block, charts_of_models(rows, task_id, "by class", draw))
        caption = "Sensitivity over the samples of each class"
        block.tables.append(table(caption, _COLUMNS, rows, MART, n_heads=3, most=room.n_rows))


def _boxes(rows: list[Row], who: str, *, shown: list[str]) -> Drawn:
    everything = list(dict.fromkeys(row["gold_label"] for row in rows))
    names = everything[:MOST_BARS]
    drawn = [
        {
            "name": row["gold_label"],
            "series": row["strategy"],
            "n": row["n_samples"],
            **{name: row[column] for name, (_, column) in _QUANTILES.items()},
            "figure": figure_id(MART, row, "sensitivity_p50"),
        }
        for row in rows
        if row["gold_label"] in names and row["strategy"] in shown
    ]
    most = max(rows, key=lambda row: row["sensitivity_mean"])
    largest = f"largest mean {number(most['sensitivity_mean'])}"
    label = (
        f"{who}: sensitivity of {len(names)} classes by strategy; {largest}, of {cut(most['gold_label'], NAME)} under "
        f"{cut(most['strategy'], NAME)}."
    )
    some = "" if len(names) == len(everything) else f"the first {len(names)} of {len(everything)} classes; "
    return f"{some}{largest}", charts.boxes(drawn, names, shown, label)


def _finding(data: ReportData) -> str:
    worst = largest(known_rows(data, data["sensitivity_by_class"], "sensitivity_mean"), "sensitivity_mean")
    if worst is None:
        return ""
    if not worst["sensitivity_mean"]:
        return f"No class depends on the {word_for(data.variants)}"
    figure = f"{number(worst['sensitivity_mean'])} for {whose(worst)}"
    return f"{class_of(worst)} depends most on the {word_for(data.variants)}: {figure}"


sensitivity_by_class = Section(
    name="sensitivity_by_class",
    title="Sensitivity by class",
    intro=(
        "For the samples of each gold label, the tick is the median, the bar is the middle half, and the line is "
        "the middle nine tenths."
    ),
    fill=_fill,
    finding=_finding,
    queries=("sensitivity", "sensitivity_by_class"),
)
