"""The sections on what the wording changes: sensitivity by sample, consistency by class."""

from __future__ import annotations

from functools import partial

from flows.display.figures import number
from flows.report.blocks.blocks import Pair, Section, by
from flows.report.blocks.cells import Traced
from flows.report.charts import panels
from flows.report.gather import ReportData
from flows.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, bounds, figure, table, words
from flows.report.sections.reasons import NO_CLASSES, why_in_part, why_no_answers, why_one_variant, why_open
from flows.report.sections.room import Drawn, Room, charts_of_pairs
from flows.warehouse import Row

_SENSITIVITY = (
    MODEL, STRATEGY, N_SAMPLES, figure("At 0", "steady_rate", Traced.percent), figure("Least", "sensitivity_min"),
    figure("Lower quartile", "sensitivity_p25"), figure("Median", "sensitivity_p50"), figure("Upper quartile", "sensitivity_p75"),
    figure("Most", "sensitivity_max"), figure("Mean", "sensitivity_mean"),
)  # fmt: skip
_UNCERTAINTY = (
    MODEL, STRATEGY, figure("Sensitivity", "sensitivity"), figure("Output uncertainty, nats a token", "output_uncertainty"),
)  # fmt: skip
_CONSISTENCY = (
    MODEL, STRATEGY, words("Gold label", "gold_label"), N_SAMPLES, figure("Consistency", "consistency"),
    bounds("consistency", "95 % interval, these wordings"),
    bounds("consistency_wordings", "for other wordings too"),
    figure("Without self-pairs", "consistency_distinct"),
)  # fmt: skip
BINARY = 2
CEILING = (
    "Answers that are all one of two labels reach at most 0.631, ln 2 / ln 3: an answer that is no label is a class too, and 1 "
    "needs as many of those as of either label."
)


def sensitivity(data: ReportData, room: Room) -> Section:
    """Returns how much each sample's label depends on the wording."""
    section = Section(
        "sensitivity",
        "Sensitivity by sample",
        "0: every wording gives a sample the same label. 1: all labels are equally likely. The dashed rule is the mean.",
    )
    n_labels = {row["task_id"]: len(row["labels"] or ()) for row in data.tasks}
    spreads, bins = by(data.sample_spreads, "task_id"), by(data.sensitivity_bins, "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        spread = {(row["model_id"], row["strategy"]): row for row in spreads.get(task_id, []) if row["n_samples"]}
        if not spread:
            block.absent.append(
                why_open(data, task_id) or why_in_part(scored) or why_one_variant(scored, "sensitivity")
            )
            continue
        if n_labels.get(task_id) == BINARY:
            block.notes.append(CEILING)
        room.draw_pairs(block, charts_of_pairs(bins[task_id], task_id, partial(_histogram, spread)))
        block.tables.append(
            table("Sensitivity over samples", _SENSITIVITY, list(spread.values()), "rpt_sample_spreads")
        )
        if unsure := [row for row in scored if row["output_uncertainty"] is not None]:
            caption = "Sensitivity beside the uncertainty that token probabilities show"
            block.tables.append(table(caption, _UNCERTAINTY, unsure, "rpt_audit", most=room.n_rows))
    return section


def _histogram(spread: dict[Pair, Row], bins: list[Row], who: str) -> Drawn:
    row = spread[bins[0]["model_id"], bins[0]["strategy"]]
    middle = f"mean {number(row['sensitivity_mean'])}, median {number(row['sensitivity_p50'])}"
    label = f"{who}: histogram of sensitivity over {row['n_samples']:,} samples: {middle}, {row['n_steady']:,} samples at 0."
    return middle, panels.histogram(bins, row["sensitivity_mean"], label)


def consistency(data: ReportData, room: Room) -> Section:
    """Returns how alike samples of one class are treated."""
    section = Section(
        "consistency",
        "Consistency by class",
        "1: all samples of a class get the same labels over the wordings. Lines are 95 % intervals, none below 20 samples a "
        "class.",
    )
    rows_of = by(data.consistencies, "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id not in rows_of:
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or why_in_part(scored) or NO_CLASSES)
            continue
        room.draw_pairs(block, charts_of_pairs(rows_of[task_id], task_id, _bars))
        block.tables.append(
            table("Consistency of each class", _CONSISTENCY, rows_of[task_id], "fct_consistency", n_heads=3)
        )
    return section


def _bars(rows: list[Row], who: str) -> Drawn:
    drawn = [
        {"name": row["gold_label"], "value": row["consistency"], "low": row["consistency_low"],
         "high": row["consistency_high"]}
        for row in rows[: panels.MOST_BARS]
    ]  # fmt: skip
    some = "" if len(rows) == len(drawn) else f"the first {len(drawn)} of {len(rows)} classes"
    return some, panels.bars(drawn, f"{who}: consistency of {len(drawn)} classes; the figures are in the table below.")
