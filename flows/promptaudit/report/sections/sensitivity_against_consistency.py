"""The section on sensitivity against consistency: one dot a sample, before those of annotators of known kinds."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by
from promptaudit.report.charts import samples as charts
from promptaudit.report.data import ReportData
from promptaudit.report.queries import SAMPLED
from promptaudit.report.sections.columns import MODEL, STRATEGY, counted, figure, table
from promptaudit.report.sections.extremes import ends
from promptaudit.report.sections.reasons import why_no_answers, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_models, colour
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, count, cut
from promptaudit.warehouse import Row

_KINDS = {
    "random": "answers by chance (circles)",
    "noisy": "another model's answers with errors of a known share (crosses)",
}
_COLUMNS = (
    MODEL,
    STRATEGY,
    counted("Samples", "n_correlated"),
    figure("Mean sensitivity", "sensitivity_mean"),
    figure("Mean consistency", "mean_consistency_mean"),
    figure("Correlation", "correlation"),
)
_NOTE = (
    "Only samples with both figures are counted, and Pearson's correlation is over them; it is a dash where "
    "one of the two does not vary. A mean is over all samples that have its figure."
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    dots_of, spreads = by(data["sensitivity_against_consistency"], "task_id"), by(data["sample_spreads"], "task_id")
    kinds = {row["model_id"]: row["kind"] for row in data.references}
    for task_id, block, scored in section.of_tasks(data.scorecard):
        dots, spread = dots_of.get(task_id), [row for row in spreads.get(task_id, []) if row["n_correlated"]]
        if not (dots and spread):
            both = "No sample has both figures: they need two prompt variants, and two samples of one gold label."
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or both)
            continue
        models = by(dots, "model_id")
        references = {kind: model for model, kind in reversed(kinds.items()) if model in models}
        own = [row for row in dots if row["model_id"] not in references.values()]
        if not own:  # nothing else was asked
            own, references = dots, {}
        shown = colour(block, dots)
        behind = [
            {**row, "who": kind}
            for kind, model in references.items()
            for row in models[model]
            if row["strategy"] in shown
        ]
        block.legend += tuple(
            (charts.BEHIND[kind], f"{cut(model, NAME)}: {_KINDS[kind]}") for kind, model in references.items()
        )
        draw = partial(_cloud, behind=behind, shown=shown)
        room.draw(block, charts_of_models(own, task_id, "all strategies", draw))
        n = max(row["n_correlated"] for row in spread)
        if n > SAMPLED:
            block.notes.append(
                f"{SAMPLED} of {count(n)} samples are drawn, chosen by a hash of the run's seed and their name; the figures "
                "below are over all."
            )
        caption = "Sensitivity and mean consistency over samples"
        block.tables.append(table(caption, _COLUMNS, spread, "rpt_sample_spreads", note=_NOTE, most=room.n_rows))


def _cloud(rows: list[Row], who: str, *, behind: list[Row], shown: list[str]) -> Drawn:
    fields = ("sensitivity", "mean_consistency", "n")
    dots = [
        {"who": row["strategy"], **{name: row[name] for name in fields}} for row in rows if row["strategy"] in shown
    ]
    back = [{name: row[name] for name in ("who", *fields)} for row in behind]
    n = sum(row["n"] for row in dots)
    steady = sum(row["n"] for row in dots if row["sensitivity"] == 0)
    before = f", before {sum(row['n'] for row in back):,} of reference models" if back else ""
    label = (
        f"{who}: mean consistency against sensitivity, {n:,} dots{before}; {steady:,} lie at sensitivity 0. "
        "The means are in the table below."
    )
    return f"{count(n)} dots, {count(steady)} at sensitivity 0", charts.cloud(back, dots, shown, label)


def _finding(data: ReportData) -> str:
    return ends(data, "Sensitivity and consistency of samples correlate at", data["sample_spreads"], "correlation")


sensitivity_against_consistency = Section(
    name="sensitivity_against_consistency",
    title="Sensitivity against consistency",
    intro=(
        "Each dot is a sample, and is larger where several fall on each other; mean consistency is with the others "
        "of its class. A sample at the bottom left is steady but unlike its class; one at the top right wavers in "
        "the same way as its whole class."
    ),
    fill=_fill,
    finding=_finding,
    queries=("sample_spreads", "sensitivity_against_consistency"),
)
