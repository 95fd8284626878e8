"""The section on consistency: how alike the samples of one class are treated."""

from __future__ import annotations

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, bounds, figure, table, words
from promptaudit.report.sections.extremes import class_of, known_rows, smallest, whose
from promptaudit.report.sections.reasons import NO_CLASSES, why_no_answers, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import number
from promptaudit.warehouse import Row

_CONSISTENCY = (
    MODEL,
    STRATEGY,
    words("Gold label", "gold_label"),
    N_SAMPLES,
    figure("Consistency", "consistency"),
    bounds("consistency", "95 % interval, these wordings"),
    bounds("consistency_wordings", "for other wordings too"),
    figure("Without self-pairs", "consistency_distinct"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["consistency"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id not in rows_of:
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or NO_CLASSES)
            continue
        room.draw_pairs(block, charts_of_pairs(rows_of[task_id], task_id, _bars))
        block.tables.append(
            table("Consistency of each class", _CONSISTENCY, rows_of[task_id], "fct_consistency", n_heads=3)
        )


def _bars(rows: list[Row], who: str) -> Drawn:
    drawn = [
        {
            "name": row["gold_label"],
            "value": row["consistency"],
            "low": row["consistency_low"],
            "high": row["consistency_high"],
        }
        for row in rows[: panels.MOST_BARS]
    ]
    some = "" if len(rows) == len(drawn) else f"the first {len(drawn)} of {len(rows)} classes"
    return some, panels.bars(drawn, f"{who}: consistency of {len(drawn)} classes; the figures are in the table below.")


def _finding(data: ReportData) -> str:
    worst = smallest(known_rows(data, data["consistency"], "consistency"), "consistency")
    return (
        ""
        if worst is None
        else f"{class_of(worst)} is treated least consistently: {number(worst['consistency'])} for {whose(worst)}"
    )


consistency = Section(
    name="consistency",
    title="Consistency by class",
    intro=(
        "It is 1 where all samples of a class get the same labels over the wordings. Lines are 95 % intervals; a "
        "class of fewer than 20 samples has none."
    ),
    fill=_fill,
    finding=_finding,
    queries=("consistency",),
)
