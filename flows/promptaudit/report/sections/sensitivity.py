"""The section on sensitivity: how much each sample's label depends on the wording."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, Pair, by
from promptaudit.report.blocks.cells import Traced
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, figure, table
from promptaudit.report.sections.extremes import known_rows, whose
from promptaudit.report.sections.reasons import why_one_variant, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import count, number
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

_SENSITIVITY = (
    MODEL,
    STRATEGY,
    N_SAMPLES,
    figure("At 0", "steady_rate", Traced.percent),
    figure("Least", "sensitivity_min"),
    figure("Lower quartile", "sensitivity_p25"),
    figure("Median", "sensitivity_p50"),
    figure("Upper quartile", "sensitivity_p75"),
    figure("Most", "sensitivity_max"),
    figure("Mean", "sensitivity_mean"),
)
_UNCERTAINTY = (
    MODEL,
    STRATEGY,
    figure("Sensitivity", "sensitivity"),
    figure("Output uncertainty, nats a token", "output_uncertainty"),
)
BINARY = 2
CEILING = (
    "Where every answer is one of two labels, sensitivity reaches at most 0.631 (ln 2 / ln 3): an answer that "
    "is no label is a class too, and 1 needs as many of those as of either label."
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    n_labels = {row["task_id"]: len(row["labels"] or ()) for row in data.tasks}
    spreads, bins = by(data["sample_spreads"], "task_id"), by(data["sensitivity"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        spread = {(row["model_id"], row["strategy"]): row for row in spreads.get(task_id, []) if row["n_samples"]}
        if not spread:
            block.absent.append(why_open(data, task_id) or why_one_variant(scored, "sensitivity"))
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


def _histogram(spread: dict[Pair, Row], bins: list[Row], who: str) -> Drawn:
    row = spread[bins[0]["model_id"], bins[0]["strategy"]]
    middle = f"mean {number(row['sensitivity_mean'])}, median {number(row['sensitivity_p50'])}"
    label = f"{who}: histogram of sensitivity over {row['n_samples']:,} samples: {middle}, {row['n_steady']:,} samples at 0."
    return middle, panels.histogram(bins, row["sensitivity_mean"], label)


def _finding(data: ReportData) -> str:
    rows = [row for row in known_rows(data, data["sample_spreads"], "n_steady") if row["n_samples"]]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: 1 - row["n_steady"] / row["n_samples"])
    n = worst["n_samples"] - worst["n_steady"]
    if not n:
        if all(row["invalid_rate"] == 1 for row in known_rows(data, data.scorecard, "sensitivity")):
            return "No answer gives a label, so that none changes"
        return f"No sample changes its label with the {word_for(data.variants)}"
    samples = f"{count(n)} of {count(worst['n_samples'])} samples"
    return f"{samples} change their label with the {word_for(data.variants)} for {whose(worst)}"


sensitivity = Section(
    name="sensitivity",
    title="Sensitivity by sample",
    intro=(
        "It is 0 where every wording gives a sample the same label, and 1 where all labels are equally likely. The "
        "dashed rule is the mean."
    ),
    fill=_fill,
    finding=_finding,
    queries=("sample_spreads", "sensitivity"),
)
