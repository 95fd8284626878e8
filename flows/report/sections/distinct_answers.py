"""The section on how many different answers come back, by repetition and by paraphrase temperature."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, cut, number
from flows.report.blocks.blocks import Section, by_task
from flows.report.blocks.cells import Cell, Traced
from flows.report.charts.curves import Axes, curves
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, by_model, coloured
from flows.report.sections.sensitivity import why_no_answers, why_older
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

MART = "rpt_distinct_answers"
_COLUMNS = ("Model", "Strategy", "Repetition", "Distinct completions", "Answers")
_WARM = ("Model", "Strategy", "Temperature", "Variants", "Distinct completions", "Answers")


def variety(found: Gathered, room: Room) -> Section:
    """Distinct completions of one ask over the samples."""
    section = Section(
        "variety",
        "Distinct answers",
        "How many different completions one ask of all samples brings back, taken verbatim. A task of six labels has six; "
        "more of them are answers that are worded otherwise or are no label.",
    )
    rows_of = by_task(found.answered.distinct_answers)
    for task_id, block, scored in section.of_tasks(found.scorecard):
        asks = [row for row in rows_of.get(task_id, []) if row["repetition"] is not None]
        warm = [row for row in rows_of.get(task_id, []) if row["repetition"] is None]
        if not asks and not warm:
            block.absent.append(why_no_answers(scored) or why_older(found) or "No original wording was asked.")
            continue
        shown = coloured(block, [*asks, *warm])
        is_again = len({row["repetition"] for row in asks}) > 1
        who = cut(task_id, NAME)
        wanted = [
            Wanted(model, "by repetition", partial(_drawn, own, shown, "repetition", f"{cut(model, NAME)}, {who}"))
            for model, own in by_model(asks).items()
            if is_again
        ]
        wanted += [
            Wanted(
                model, "by paraphrase temperature",
                partial(_drawn, own, shown, "paraphrase_temperature", f"{cut(model, NAME)}, {who}"),
            )
            for model, own in by_model(warm).items()
        ]  # fmt: skip
        room.draw(block, wanted)
        if asks:
            lines = [(row["model_id"], row["strategy"], f"{row['repetition']}", *_means(row)) for row in asks]
            caption = "Distinct completions of the original wording, by repetition"
            block.tables.append(room.table(caption, _COLUMNS, lines, 2, 3))
        if warm:
            of_variants = [
                (row["model_id"], row["strategy"], f"{row['paraphrase_temperature']:g}",
                 Traced(MART, row).count("n_variants"), *_means(row))
                for row in warm
            ]  # fmt: skip
            note = "Mean over the rephrased variants of a temperature and their asks."
            caption = "Distinct completions by paraphrase temperature"
            block.tables.append(room.table(caption, _WARM, of_variants, 2, 4, note=note))
    return section


def _means(row: Row) -> tuple[Cell, ...]:
    of = Traced(MART, row)
    return tuple(of.cell(name, mean(row[name])) for name in ("distinct_completions_mean", "answers_mean"))


def mean(value: float) -> str:
    """A mean of counts: whole where it is whole."""
    return number(value, 0 if value == int(value) else 1)


def _drawn(rows: list[Row], shown: list[str], over: str, who: str) -> tuple[str, Markup]:
    data = [
        {"at": row[over], "series": row["strategy"], "value": row["distinct_completions_mean"], "low": None, "high": None,
         "n": row["answers_mean"], "figure": figure_id(MART, row, "distinct_completions_mean")}
        for row in rows
        if row["strategy"] in shown
    ]  # fmt: skip
    title = over.replace("_", " ")
    least, most = min(row["value"] for row in data), max(row["value"] for row in data)
    span = mean(least) if least == most else f"{mean(least)} to {mean(most)}"
    label = f"{who}: distinct completions by {title}, {span} of {mean(max(row['n'] for row in data))} answers."
    fields = {"series": "strategy", "at": title, "value": "distinct completions", "n": "answers"}
    ticks = sorted({row["at"] for row in data})
    return span, curves(data, shown, Axes(x=title, y="distinct completions", ticks=ticks), fields, label)
