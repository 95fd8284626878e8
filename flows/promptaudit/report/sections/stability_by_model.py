"""The section on PSS by model: how stable each model is under each strategy, side by side."""

from __future__ import annotations

from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.blocks.cells import plain
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, bounds, figure, table
from promptaudit.report.sections.extremes import known_rows, means_of
from promptaudit.report.sections.reasons import why_no_answers, why_open
from promptaudit.report.sections.room import Chart, Drawn, Room, colour
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number, span
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

_SCOPES = (("pss_intra", "PSS intra", "by repetition"), ("pss_inter", "PSS inter", "by wording"))
_COLUMNS = (
    MODEL,
    STRATEGY,
    Column("Samples", lambda of: plain(of.samples()), is_figure=True),
    figure("PSS intra", "pss_intra"),
    bounds("pss_intra"),
    figure("PSS inter", "pss_inter"),
    bounds("pss_inter"),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    for task_id, block, rows in section.of_tasks(data.scorecard):
        if all(row[name] is None for row in rows for name, _, _ in _SCOPES):
            neither = "No wording was asked twice and no second wording was asked, so there are no answers to compare."
            block.absent.append(why_open(data, task_id) or why_no_answers(rows) or neither)
            continue
        models = list(dict.fromkeys(row["model_id"] for row in rows))
        shown_models = models[: panels.MOST_BARS]
        if len(shown_models) < len(models):
            block.notes.append(
                f"{len(shown_models)} of {len(models)} models are drawn; the figures below hold all of them."
            )
        shown = colour(block, rows)
        drawn = [row for row in rows if row["model_id"] in shown_models and row["strategy"] in shown]
        charts = [
            Chart(title, beside, partial(_ranges, drawn, shown, name, title, cut(task_id, NAME)))
            for name, title, beside in _SCOPES
            if any(row[name] is not None for row in drawn)
        ]
        room.draw(block, charts)
        block.tables.append(table("PSS by model", _COLUMNS, rows, "rpt_audit", most=room.n_rows))


def _ranges(rows: list[Row], shown: list[str], name: str, title: str, task: str) -> Drawn:
    known = [row for row in rows if row[name] is not None]
    points = [
        {
            "name": row["model_id"],
            "series": row["strategy"],
            "value": row[name],
            "low": row[f"{name}_low"],
            "high": row[f"{name}_high"],
        }
        for row in known
    ]
    domain = panels.domain_of([row["value"] if row["low"] is None else row["low"] for row in points])
    least, most = min(known, key=lambda row: row[name]), max(known, key=lambda row: row[name])
    label = (
        f"{task}: {title} of {len({row['name'] for row in points})} models by strategy, from {number(least[name])} "
        f"({cut(least['model_id'], NAME)}) to {number(most[name])} ({cut(most['model_id'], NAME)})."
    )
    return span([row[name] for row in known]), panels.ranges(
        points, shown, domain, title, label, of_what="strategy", level=panels.STABLE
    )


def _finding(data: ReportData) -> str:
    rows = known_rows(data, data.scorecard, "pss_inter")
    for name in ("model_id", "strategy"):
        means = means_of(rows, name, "pss_inter")
        if len(means) > 1:
            least, most = min(means, key=lambda key: means[key]), max(means, key=lambda key: means[key])
            return (
                f"PSS over {word_for(data.variants)}s is {number(means[most])} on average for {cut(most, NAME)} and "
                f"{number(means[least])} for {cut(least, NAME)}"
            )
    return ""


stability_by_model = Section(
    name="stability_by_model",
    title="PSS by model",
    intro=(
        "How far the labels of each model agree over identical asks (intra) and over rephrased prompts (inter, the "
        "mean over temperatures). Lines are 95 % intervals."
    ),
    fill=_fill,
    finding=_finding,
)
