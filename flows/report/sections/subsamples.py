"""The section on PSS of a part of the samples: how many of them it takes until the figure holds still."""

from __future__ import annotations

from functools import partial

from flows.display.figures import NAME, cut, percent, span
from flows.report.blocks.blocks import Section, by
from flows.report.blocks.cells import Printed, Traced
from flows.report.charts.curves import Axes, curves
from flows.report.charts.panels import STABLE, Domain, domain_of
from flows.report.gather import ReportData
from flows.report.sections.columns import MODEL, N_SAMPLES, STRATEGY, Column, bounds, figure, table
from flows.report.sections.reasons import OLDER, why_no_answers, why_open
from flows.report.sections.room import Drawn, Room, charts_of_models, colour, point
from flows.warehouse import Row

DEEPEST = 0.3  # below a figure, of what is drawn of its interval
_FIELDS = {"series": "strategy", "at": "share of samples", "value": "PSS", "low": "low", "high": "high", "n": "samples"}


def _share(of: Traced) -> Printed:
    return "100 %" if of.row["sample_share"] == 1 else of.percent("sample_share")


_COLUMNS = (
    MODEL, STRATEGY, Column("Share of samples", _share, is_figure=True), N_SAMPLES, figure("PSS", "pss"),
    bounds("pss"),
)  # fmt: skip


def subsamples(data: ReportData, room: Room) -> Section:
    """Returns PSS intra of 25, 50, 75 and 100 % of the samples."""
    section = Section(
        "subsamples",
        "PSS by share of the samples",
        "PSS by repetition (labels) of a part of the samples, chosen by a hash of the run's seed and their name, each part "
        "within the next, with the formula and 95 % interval of the whole. Of wide intervals the upper part is drawn; the "
        "table has the whole.",
    )
    wholes = [
        {**row, "sample_share": 1.0}
        for row in data.stabilities
        if (row["scope"], row["series"], row["annotation_filter"]) == ("intra", "all", "valid")
    ]
    measured = [row for row in [*data.stabilities_by_share, *wholes] if row["pss"] is not None]
    rows_of = by(measured, "task_id")
    for task_id, block, scored in section.of_tasks(data.scorecard):
        rows = sorted(rows_of.get(task_id, []), key=lambda row: (row["model_id"], row["strategy"], row["sample_share"]))
        is_older = bool(rows) and not data.stabilities_by_share
        if is_older or not rows:
            once = "No original wording was asked twice, so there are no repetitions to compare."
            block.absent.append(why_open(data, task_id) or why_no_answers(scored) or (OLDER if is_older else once))
            continue
        # of a handful of samples an interval reaches down to -1: its end is cut rather than all else made flat
        ends = [row["pss"] if row["pss_low"] is None else max(row["pss_low"], row["pss"] - DEEPEST) for row in rows]
        draw = partial(_curves, shown=colour(block, rows), domain=domain_of(ends))
        room.draw(block, charts_of_models(rows, task_id, "by strategy", draw))
        block.tables.append(table("PSS of a part of the samples", _COLUMNS, rows, _mart, most=room.n_rows))
    return section


def _mart(row: Row) -> str:
    """The mart that a row is of: the whole is no row of the parts' mart."""
    return "fct_prompt_stability" if row["sample_share"] == 1 else "rpt_stability_by_share"


def _curves(rows: list[Row], who: str, *, shown: list[str], domain: Domain) -> Drawn:
    points = [
        point(_mart(row), row, "pss", series=row["strategy"], at=row["sample_share"], n=row["n_samples"])
        for row in rows
        if row["strategy"] in shown
    ]
    shares = sorted({row["at"] for row in points})
    spans = "; ".join(
        f"{cut(name, NAME)} {span([row['value'] for row in own])}" for name, own in by(points, "series").items()
    )
    label = f"{who}: PSS by share of the samples ({', '.join(percent(share) for share in shares)}): {spans}."
    axes = Axes(x="share of the samples", y="PSS", ticks=shares, domain=domain, format=".0%", level=STABLE)
    return "", curves(points, shown, axes, _FIELDS, label)
