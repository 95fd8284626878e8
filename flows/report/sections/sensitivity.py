"""The sections on what the wording changes: sensitivity by sample, consistency by class."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from flows.display.figures import number
from flows.report.blocks.blocks import Budget, Group, Section, Table, by_group, by_task, limited
from flows.report.blocks.cells import Traced
from flows.report.charts import panels
from flows.report.gather import Gathered
from flows.warehouse import Row

OLDER = (
    "An older version derived this run, without these figures; `promptaudit rebuild` adds them (with --restore where its raw "
    "rows are in the archive)."
)


def why_no_answers(rows: Sequence[Row]) -> str | None:
    """Why a task has nothing to measure at all, if it has not."""
    if not sum(row["n_landed"] or 0 for row in rows):
        return "No answer has landed yet."
    if all(row["n_variants_quarantined"] == row["n_variants"] for row in rows):
        return "Every prompt variant is quarantined by the format gate, so nothing is left to measure."
    return None


def why_open(found: Gathered, task_id: str) -> str | None:
    """Why an open-ended task has none of the measures of labels."""
    kinds = {row["task_id"]: row["kind"] for row in found.tasks}
    return "An open-ended task has no labels to measure this by." if kinds.get(task_id) == "open_ended" else None


def why_older(found: Gathered) -> str | None:
    """Why a run that was derived before its aggregates became marts has none of them."""
    if found.answered.answer_totals or not any(row["n_landed"] for row in found.scorecard):
        return None
    return OLDER


def why_one_wording(rows: Sequence[Row], what: str) -> str:
    """Why a measure over wordings is not there."""
    if nothing := why_no_answers(rows):
        return nothing
    if max(row["n_variants"] - row["n_variants_quarantined"] for row in rows) < 2:  # noqa: PLR2004
        return f"Only one wording was asked, and {what} needs two."
    return f"Too few answers can be compared for {what}."


def sensitivity(found: Gathered, budget: Budget) -> Section:
    """How much each sample's label depends on the wording."""
    section = Section(
        "sensitivity",
        "Sensitivity by sample",
        "0: every wording gives a sample the same label. 1: all labels are equally likely. The dashed rule is "
        "the mean.",
    )
    spreads, bins = by_task(found.sampled.sample_spreads), by_task(found.sensitivity_bins)
    for task_id, block, rows in section.of_tasks(found.scorecard):
        spread = {(row["model_id"], row["strategy"]): row for row in spreads.get(task_id, []) if row["n_samples"]}
        if not spread:
            block.absent.append(why_open(found, task_id) or why_older(found) or why_one_wording(rows, "sensitivity"))
            continue

        def panel(who: str, group: Group, rows: list[Row], spread: dict[Group, Row] = spread) -> tuple[str, Markup]:
            row = spread[group]
            mean, median = number(row["sensitivity_mean"]), number(row["sensitivity_p50"])
            label = (
                f"{who}histogram of sensitivity over {row['n_samples']:,} samples: mean {mean}, median {median}, "
                f"{row['n_steady']:,} samples at 0."
            )
            return f"mean {mean}, median {median}", panels.histogram(rows, row["sensitivity_mean"], label)

        budget.draw(block, by_group(bins[task_id]), panel)
        lines = [
            (*group, of.count("n_samples"), of.percent("steady_rate"),
             *(of.number(f"sensitivity_{name}") for name in ("min", "p25", "p50", "p75", "max", "mean")))
            for group, row in spread.items()
            for of in (Traced("rpt_sample_spreads", row),)
        ]  # fmt: skip
        kept, note = limited(lines)
        columns = (
            "Model",
            "Strategy",
            "Samples",
            "At 0",
            "Least",
            "Lower quartile",
            "Median",
            "Upper quartile",
            "Most",
            "Mean",
        )
        block.tables.append(
            Table(caption="Sensitivity over samples", columns=columns, rows=kept, n_heads=2, n_figures=8, note=note)
        )
    return section


def consistency(found: Gathered, budget: Budget) -> Section:
    """How alike samples of one class are treated."""
    section = Section(
        "consistency",
        "Consistency by class",
        "1: all samples of a class get the same labels over the wordings. Lines are 95 % intervals, none below "
        "20 samples a class.",
    )
    rows_of = by_task(found.consistencies)
    for task_id, block, rows in section.of_tasks(found.scorecard):
        if task_id not in rows_of:
            missing = "No sample of this task has a gold label, so there are no classes to compare."
            block.absent.append(why_open(found, task_id) or why_no_answers(rows) or missing)
            continue

        def panel(who: str, _group: Group, rows: list[Row]) -> tuple[str, Markup]:
            data = [
                {"name": row["gold_label"], "value": row["consistency"], "low": row["consistency_low"],
                 "high": row["consistency_high"]}
                for row in rows[: panels.MOST_BARS]
            ]  # fmt: skip
            detail = "" if len(rows) <= panels.MOST_BARS else f"the first {panels.MOST_BARS} of {len(rows)} classes"
            return detail, panels.bars(
                data, f"{who}consistency of {len(data)} classes; the figures are in the table below."
            )

        budget.draw(block, by_group(rows_of[task_id]), panel)
        lines = [
            (row["model_id"], row["strategy"], row["gold_label"], of.count("n_samples"), of.number("consistency"),
             of.bounds("consistency"), of.number("consistency_distinct"))
            for row in rows_of[task_id]
            for of in (Traced("fct_consistency", row),)
        ]  # fmt: skip
        kept, note = limited(lines)
        columns = ("Model", "Strategy", "Gold label", "Samples", "Consistency", "95 % interval", "Without self-pairs")
        block.tables.append(
            Table(caption="Consistency of each class", columns=columns, rows=kept, n_heads=3, n_figures=4, note=note)
        )
    return section
