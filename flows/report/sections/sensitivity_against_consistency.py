"""The section on sensitivity against consistency: one dot a sample, before those of annotators of known kinds."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, count, cut
from flows.report.blocks.blocks import Section, by_task
from flows.report.blocks.cells import Traced
from flows.report.charts import samples as charts
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, by_model, coloured
from flows.report.queries import SAMPLED
from flows.report.sections.sensitivity import why_no_answers, why_older, why_open
from flows.warehouse import Row

_KINDS = {
    "random": "answers by chance (circles)",
    "noisy": "another model's answers with errors of a known share (crosses)",
}
_COLUMNS = ("Model", "Strategy", "Samples", "Mean sensitivity", "Mean consistency", "Correlation")


def clouds(found: Gathered, room: Room) -> Section:
    """Sensitivity and mean consistency of samples, model by model."""
    section = Section(
        "clouds",
        "Sensitivity against consistency",
        "A dot is a sample, larger where several fall on each other; mean consistency is with the others of its class. Bottom "
        "left: steady but unlike its class. Top right: the whole class wavers in the same way.",
    )
    dots_of, spreads = by_task(found.sampled.clouds), by_task(found.sampled.sample_spreads)
    kinds = {row["model_id"]: row["kind"] for row in found.sampled.references}
    for task_id, block, scored in section.of_tasks(found.scorecard):
        dots, spread = dots_of.get(task_id), [row for row in spreads.get(task_id, []) if row["n_correlated"]]
        if not (dots and spread):
            both = "No sample has both figures: they need two wordings, and two samples of one gold label."
            block.absent.append(why_open(found, task_id) or why_no_answers(scored) or why_older(found) or both)
            continue
        models = by_model(dots)
        references = {kind: model for model, kind in reversed(kinds.items()) if model in models}
        own = {model: rows for model, rows in models.items() if model not in references.values()}
        if not own:  # nothing else was asked
            own, references = models, {}
        shown = coloured(block, dots)
        behind = [
            {**row, "who": kind} for kind, model in references.items() for row in models[model] if row["strategy"] in shown
        ]  # fmt: skip
        block.legend += tuple(
            (charts.BEHIND[kind], f"{cut(model, NAME)}: {_KINDS[kind]}") for kind, model in references.items()
        )
        room.draw(
            block,
            [
                Wanted(
                    model, "all strategies", partial(_drawn, rows, behind, shown, f"{cut(model, NAME)}, {cut(task_id, NAME)}")
                )
                for model, rows in own.items()
            ],
        )  # fmt: skip
        n = max(row["n_correlated"] for row in spread)
        if n > SAMPLED:
            block.notes.append(
                f"Drawn are {SAMPLED} of {count(n)} samples, chosen by a hash of the run's seed and their name; the figures "
                "below are over all."
            )
        lines = [
            (row["model_id"], row["strategy"], of.count("n_correlated"), of.number("sensitivity_mean"),
             of.number("mean_consistency_mean"), of.number("correlation"))
            for row in spread
            for of in (Traced("rpt_sample_spreads", row),)
        ]  # fmt: skip
        note = (
            "Counted are samples with both figures; over them is the correlation, Pearson's, a dash where one of the two does "
            "not vary. A mean is over all samples that have its figure."
        )
        block.tables.append(
            room.table("Sensitivity and mean consistency over samples", _COLUMNS, lines, 2, 4, note=note)
        )
    return section


def _drawn(rows: list[Row], behind: list[Row], shown: list[str], who: str) -> tuple[str, Markup]:
    data = [
        {"who": row["strategy"], **{name: row[name] for name in ("sensitivity", "mean_consistency", "n")}}
        for row in rows
        if row["strategy"] in shown
    ]
    back = [{name: row[name] for name in ("who", "sensitivity", "mean_consistency", "n")} for row in behind]
    n = sum(row["n"] for row in data)
    steady = sum(row["n"] for row in data if row["sensitivity"] == 0)
    before = f", before {sum(row['n'] for row in back):,} of reference models" if back else ""
    label = (
        f"{who}: mean consistency against sensitivity, {n:,} dots{before}; {steady:,} lie at sensitivity 0. "
        "The means are in the table below."
    )
    return f"{count(n)} dots, {count(steady)} at sensitivity 0", charts.cloud(back, data, shown, label)
