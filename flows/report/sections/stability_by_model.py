"""The section on PSS by model: how stable each model is under each strategy, side by side."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, count, cut, number, span
from flows.report.blocks.blocks import Section
from flows.report.blocks.cells import Printed, Traced
from flows.report.charts import panels
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, coloured
from flows.report.sections.sensitivity import why_no_answers, why_open
from flows.warehouse import Row

_SCOPES = (("pss_intra", "PSS intra", "by repetition"), ("pss_inter", "PSS inter", "by wording"))
_COLUMNS = ("Model", "Strategy", "Samples", "PSS intra", "95 % interval", "PSS inter", "95 % interval")


def between(found: Gathered, room: Room) -> Section:
    """PSS intra and inter of every model and strategy."""
    section = Section(
        "between",
        "PSS by model",
        "Agreement of each model with itself over identical asks (intra) and over rephrased prompts (inter, mean over "
        "temperatures), of labels; lines are 95 % intervals.",
    )
    for task_id, block, rows in section.of_tasks(found.scorecard):
        if all(row[name] is None for row in rows for name, _, _ in _SCOPES):
            neither = "No wording was asked twice and no second wording once, so there is nothing to agree with."
            block.absent.append(why_open(found, task_id) or why_no_answers(rows) or neither)
            continue
        models = list(dict.fromkeys(row["model_id"] for row in rows))
        shown_models = models[: panels.MOST_BARS]
        if len(shown_models) < len(models):
            block.notes.append(
                f"{len(shown_models)} of {len(models)} models are drawn; the figures below hold all of them."
            )
        shown = coloured(block, rows)
        drawn = [row for row in rows if row["model_id"] in shown_models and row["strategy"] in shown]
        room.draw(
            block,
            [
                Wanted(title, beside, partial(_drawn, drawn, shown, name, title, cut(task_id, NAME)))
                for name, title, beside in _SCOPES
                if any(row[name] is not None for row in drawn)
            ],
        )
        block.tables.append(room.table("PSS by model", _COLUMNS, [_line(row) for row in rows], 2, 5))
    return section


def _line(row: Row) -> tuple[Printed, ...]:
    traced = Traced("rpt_audit", row)
    return (
        row["model_id"], row["strategy"], count(row["n_samples"]), traced.number("pss_intra"), traced.bounds("pss_intra"),
        traced.number("pss_inter"), traced.bounds("pss_inter"),
    )  # fmt: skip


def _drawn(rows: list[Row], shown: list[str], name: str, title: str, task: str) -> tuple[str, Markup]:
    known = [row for row in rows if row[name] is not None]
    data = [
        {"name": row["model_id"], "series": row["strategy"], "value": row[name], "low": row[f"{name}_low"],
         "high": row[f"{name}_high"]}
        for row in known
    ]  # fmt: skip
    ends = [row["value"] if row["low"] is None else row["low"] for row in data]
    least, most = min(known, key=lambda row: row[name]), max(known, key=lambda row: row[name])
    label = (
        f"{task}: {title} of {len({row['name'] for row in data})} models by strategy, from {number(least[name])} "
        f"({cut(least['model_id'], NAME)}) to {number(most[name])} ({cut(most['model_id'], NAME)})."
    )
    return span([row[name] for row in known]), panels.ranges(
        data, shown, panels.domain_of(ends), title, label, of_what="strategy"
    )
