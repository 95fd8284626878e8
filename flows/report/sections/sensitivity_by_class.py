"""The section on sensitivity by gold class: which labels depend on the wording, under which strategy."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, cut, number
from flows.report.blocks.blocks import Section, by_task
from flows.report.blocks.cells import Traced
from flows.report.charts import samples as charts
from flows.report.charts.panels import MOST_BARS
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, by_model, coloured
from flows.report.sections.sensitivity import why_older, why_one_wording, why_open
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

_COLUMNS = (
    "Model",
    "Strategy",
    "Gold label",
    "Samples",
    "5 %",
    "Lower quartile",
    "Median",
    "Upper quartile",
    "95 %",
    "Mean",
)
_QUANTILES = {
    "low": "sensitivity_p05", "lower": "sensitivity_p25", "median": "sensitivity_p50", "upper": "sensitivity_p75",
    "high": "sensitivity_p95",
}  # fmt: skip


def classes(found: Gathered, room: Room) -> Section:
    """Quantiles of sensitivity over the samples of each class, by strategy."""
    section = Section(
        "classes",
        "Sensitivity by class",
        "Of the samples of each gold label: the median as a tick, the middle half as a bar, the middle nine tenths as a line.",
    )
    rows_of = by_task(found.sampled.class_sensitivities)
    for task_id, block, scored in section.of_tasks(found.scorecard):
        rows = rows_of.get(task_id)
        if not rows:
            no_gold = "No sample of this task has a gold label, so there are no classes."
            is_measured = any(row["task_id"] == task_id for row in found.sensitivity_bins)
            absent = no_gold if is_measured else why_one_wording(scored, "sensitivity")
            block.absent.append(why_open(found, task_id) or why_older(found) or absent)
            continue
        shown = coloured(block, rows)
        room.draw(
            block,
            [
                Wanted(model, "by class", partial(_drawn, own, shown, f"{cut(model, NAME)}, {cut(task_id, NAME)}"))
                for model, own in by_model(rows).items()
            ],
        )
        lines = [
            (row["model_id"], row["strategy"], row["gold_label"], of.count("n_samples"),
             *(of.number(column) for column in (*_QUANTILES.values(), "sensitivity_mean")))
            for row in rows
            for of in (Traced("rpt_class_sensitivities", row),)
        ]  # fmt: skip
        block.tables.append(room.table("Sensitivity over the samples of each class", _COLUMNS, lines, 3, 7))
    return section


def _drawn(rows: list[Row], shown: list[str], who: str) -> tuple[str, Markup]:
    everything = list(dict.fromkeys(row["gold_label"] for row in rows))
    names = everything[:MOST_BARS]
    data = [
        {"name": row["gold_label"], "series": row["strategy"], "n": row["n_samples"],
         **{name: row[column] for name, column in _QUANTILES.items()},
         "figure": figure_id("rpt_class_sensitivities", row, "sensitivity_p50")}
        for row in rows
        if row["gold_label"] in names and row["strategy"] in shown
    ]  # fmt: skip
    most = max(rows, key=lambda row: row["sensitivity_mean"])
    label = (
        f"{who}: sensitivity of {len(names)} classes by strategy; largest mean {number(most['sensitivity_mean'])}, of "
        f"{cut(most['gold_label'], NAME)} under {cut(most['strategy'], NAME)}."
    )
    some = "" if len(names) == len(everything) else f"the first {len(names)} of {len(everything)} classes; "
    return f"{some}largest mean {number(most['sensitivity_mean'])}", charts.boxes(data, names, shown, label)
