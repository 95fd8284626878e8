"""The section on PSS by repetition: the first k asks of the original wording, and each against the one before."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by, keyed
from promptaudit.report.charts import panels
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, STRATEGY, beside, tally
from promptaudit.report.sections.extremes import known_rows, smallest, whose
from promptaudit.report.sections.reasons import ASKED_ONCE, why_no_answers, why_open
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs
from promptaudit.report.sections.section import Section
from promptaudit.report.sections.stability_curves import (
    ANSWERS,
    BANDS,
    CONVENTION,
    INTERVAL,
    MART,
    PSS,
    SAMPLES,
    curves_of,
    domain_of,
    draw_series,
    starred_table,
)
from promptaudit.system.display.figures import ranged, span
from promptaudit.warehouse import Row

_REPETITION = (MODEL, STRATEGY, ANSWERS, tally("Annotators", "n_annotators"), SAMPLES, PSS, INTERVAL)
_BY_K = (
    MODEL,
    STRATEGY,
    ANSWERS,
    tally("Asks", "n_annotators"),
    replace(PSS, heading="First k"),
    INTERVAL,
    *(beside(MART, column, lambda _: "") for column in (replace(PSS, heading="k against k - 1"), INTERVAL)),
)


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    intra = [row for row in data["stabilities"] if row["scope"] == "intra"]
    rows_of = by([row for row in intra if row["series"] == "cumulative"], "task_id")
    adjacent_of = by([row for row in intra if row["series"] == "adjacent"], "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        block.legend = BANDS
        if task_id not in rows_of:
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or ASKED_ONCE)
            continue
        rows, adjacent = rows_of[task_id], adjacent_of.get(task_id, [])
        draw_series(block, rows, room, "asks of the same prompt", has_table=False)
        if any(row["n_annotators"] > 2 for row in adjacent):  # noqa: PLR2004 - with two asks both are the same
            draw = partial(_adjacent_asks, domain=domain_of(adjacent))
            room.draw(block, charts_of_pairs(adjacent, task_id, draw), "charts of adjacent asks")
        last = list(keyed(rows, "model_id", "strategy", "annotation_filter").values())
        block.tables.append(starred_table("PSS over all repetitions", _REPETITION, last, rows))
        key = ("model_id", "strategy", "annotation_filter", "n_annotators")
        same_k = keyed(adjacent, *key)
        lines = [{**row, MART: same_k.get(tuple(row[name] for name in key))} for row in rows]
        block.tables.append(starred_table("PSS by number of asks", _BY_K, lines, [*rows, *adjacent], room.n_rows))


def _adjacent_asks(rows: list[Row], who: str, *, domain: panels.Domain) -> Drawn:
    values = span([row["pss"] for row in rows if row["pss"] is not None])
    label = f"{who}: PSS of each ask of the same prompt with the ask before, {values}."
    return f"adjacent, {values}", curves_of(rows, "n_annotators", "ask k against ask k - 1", "ask", domain, label)


def _finding(data: ReportData) -> str:
    worst = smallest(known_rows(data, data.scorecard, "pss_intra"), "pss_intra")
    if worst is None:
        return "No wording is asked twice, so nothing tells how far a model agrees with itself"
    if worst["pss_intra"] == 1:
        return "Asked again in the same words, every model answers the same"
    figure = ranged(*(worst[f"pss_intra{end}"] for end in ("", "_low", "_high")))
    return f"Asked again in the same words, {whose(worst)} agrees with itself least: PSS {figure}"


stability_by_repetition = Section(
    name="stability_by_repetition",
    title="PSS by repetition",
    intro=(
        "Agreement of a model with itself over the first k identical asks of the original wording (cumulative), and of each "
        f"ask with the one before (adjacent); 1 is perfect. Bands and lines are 95 % intervals. {CONVENTION}"
    ),
    fill=_fill,
    finding=_finding,
    queries=("stabilities",),
)
