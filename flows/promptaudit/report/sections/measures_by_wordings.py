"""The section on the measures of fewer wordings: how many wordings it takes until the figures hold still."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from promptaudit.report.blocks.blocks import DrawnSection, by, keyed
from promptaudit.report.charts.curves import Axes, curves
from promptaudit.report.charts.panels import STABLE, Domain, domain_of
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, beside, bounds, counted, figure, table
from promptaudit.report.sections.extremes import group, known_rows, largest, whose
from promptaudit.report.sections.reasons import why_no_answers, why_one_variant, why_open
from promptaudit.report.sections.room import Chart, Drawn, Room, charts_of_models, colour, point
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number, span
from promptaudit.system.display.variant_names import word_for
from promptaudit.warehouse import Row

MART, STABILITY = "rpt_measures_by_wordings", "fct_prompt_stability"
_GROUP = ("model_id", "task_id", "strategy")
_COLUMNS = (
    MODEL,
    STRATEGY,
    counted("Wordings", "n_wordings"),
    N_SAMPLES,
    figure("Sensitivity", "sensitivity"),
    figure("Consistency", "consistency"),
    figure("std over subsets", "consistency_subset_std"),
    counted("Subsets", "n_subsets"),
    *(beside(STABILITY, column, lambda _: "") for column in (figure("PSS, first k", "pss"), bounds("pss"))),
)
_FIELDS = {"series": "strategy", "at": "wordings", "value": "figure", "low": "low", "high": "high"}


def _fill(section: DrawnSection, data: ReportData, room: Room) -> None:
    rows_of = by(data["measures_by_wordings"], "task_id")
    key = (*_GROUP, "n_annotators")
    first_k = keyed([row for row in data["stabilities"] if _is_first_k(row)], *key)
    for task_id, block, scored in section.of_tasks(data.scorecard):
        if task_id not in rows_of:
            few = why_one_variant(scored, "a curve over wordings")
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or few)
            continue
        rows = [
            {**row, STABILITY: first_k.get((*(row[name] for name in _GROUP), row["n_wordings"]))}
            for row in rows_of[task_id]
        ]
        room.draw(block, _charts(rows, task_id, colour(block, rows)))
        block.tables.append(table("Measures by number of wordings", _COLUMNS, rows, MART, most=room.n_rows))


def _is_first_k(row: Row) -> bool:
    return (row["scope"], row["series"], row["annotation_filter"], row["paraphrase_temperature"]) == (
        "inter",
        "cumulative",
        "labels_and_na",
        None,
    )


def _charts(rows: list[Row], task_id: str, shown: Sequence[str]) -> list[Chart]:
    """Returns a chart a model and measure, model by model: so each measure is seen where there is room for few."""
    charts = []
    first_k = [{**row[STABILITY], "n_wordings": row["n_wordings"]} for row in rows if row[STABILITY] is not None]
    lowest = [row["pss"] if row["pss_low"] is None else row["pss_low"] for row in first_k]
    for mart, column, name, own, ends, level in (
        (MART, "sensitivity", "sensitivity", rows, _from_zero, None),
        (MART, "consistency", "consistency", rows, domain_of, None),
        (STABILITY, "pss", "PSS", first_k, lambda _: domain_of(lowest), STABLE),
    ):
        known = [row for row in own if row[column] is not None and row["strategy"] in shown]
        if known:
            domain = ends([row[column] for row in known])
            axes = partial(Axes, x="wordings", y=name, domain=domain, format="d", level=level)
            draw = partial(_curves, mart=mart, column=column, axes=axes, shown=shown)
            charts += charts_of_models(known, task_id, name, draw)
    return sorted(charts, key=lambda chart: chart.name)


def _from_zero(values: Sequence[float]) -> Domain:
    return 0.0, min(1.0, max(0.1, math.ceil(max(values) * 10) / 10))


def _curves(rows: list[Row], who: str, *, mart: str, column: str, axes: partial[Axes], shown: Sequence[str]) -> Drawn:
    points = [point(mart, row, column, series=row["strategy"], at=row["n_wordings"]) for row in rows]
    spans = "; ".join(
        f"{cut(name, NAME)} {span([row['value'] for row in own])}" for name, own in by(points, "series").items()
    )
    axis = axes(ticks=sorted({row["at"] for row in points}))
    label = f"{who}: {axis.y} by number of wordings ({axis.ticks[0]} to {axis.ticks[-1]}): {spans}."
    return "", curves(points, shown, axis, _FIELDS, label)


def _finding(data: ReportData) -> str:
    rows = known_rows(data, data["measures_by_wordings"], "sensitivity")
    worst = largest(rows, "sensitivity")
    if worst is None:
        return ""
    own = sorted((row for row in rows if group(row) == group(worst)), key=lambda row: row["n_wordings"])
    first, last = own[0], own[-1]
    would = (
        f"{first['n_wordings']} {word_for(data.variants)}s would show a sensitivity of {number(first['sensitivity'])}"
    )
    return f"{would}, {last['n_wordings']} show {number(last['sensitivity'])}, for {whose(last)}"


measures_by_wordings = Section(
    name="measures_by_wordings",
    title="By number of wordings",
    intro=(
        "The curves show what fewer of the same wordings would have given. Sensitivity is the mean over all "
        "subsets of k wordings, and consistency the mean over up to 20 of these. PSS is that of the first k "
        "wordings, with its 95 % interval. The sensitivity of few wordings lies below that of many; where a figure "
        "still moves at the right end, more wordings are needed. Micro-F1 has no such curve, since its expectation "
        "is the same at any number of wordings."
    ),
    fill=_fill,
    finding=_finding,
    queries=("measures_by_wordings", "stabilities"),
)
