"""The section on PSS of a part of the samples: how many of them it takes until the figure holds still."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from flows.display.figures import NAME, cut, percent, span
from flows.report.blocks.blocks import Block, Section, by_task
from flows.report.blocks.cells import Printed, Traced
from flows.report.charts.curves import Axes, curves
from flows.report.charts.panels import domain_of
from flows.report.gather import Gathered
from flows.report.page_room import Room, Wanted, by_model, coloured
from flows.report.sections.sensitivity import OLDER, why_no_answers, why_open
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

DEEPEST = 0.3  # below a figure, of what is drawn of its interval
_COLUMNS = ("Model", "Strategy", "Share of samples", "Samples", "PSS", "95 % interval")
_FIELDS = {"series": "strategy", "at": "share of samples", "value": "PSS", "low": "low", "high": "high", "n": "samples"}


def subsamples(found: Gathered, room: Room) -> Section:
    """PSS intra of 25, 50, 75 and 100 % of the samples."""
    section = Section(
        "subsamples",
        "PSS by share of the samples",
        "PSS by repetition (labels) of a part of the samples, chosen by a hash of the run's seed and their name, each part "
        "within the next, with the formula and 95 % interval of the whole. Of wide intervals the upper part is drawn; the "
        "table has the whole.",
    )
    parts = by_task([row for row in found.answered.stabilities_by_share if row["pss"] is not None])
    wholes = by_task([
        {**row, "sample_share": 1.0}
        for row in found.stabilities
        if (row["scope"], row["series"], row["annotation_filter"]) == ("intra", "all", "valid") and row["pss"] is not None
    ])  # fmt: skip
    for task_id, block, scored in section.of_tasks(found.scorecard):
        points = sorted(
            [*parts.get(task_id, []), *wholes.get(task_id, [])],
            key=lambda row: (row["model_id"], row["strategy"], row["sample_share"]),
        )
        is_older = bool(points) and not found.answered.stabilities_by_share
        if is_older or not points:
            once = "No original wording was asked twice, so there are no repetitions to compare."
            block.absent.append(why_open(found, task_id) or why_no_answers(scored) or (OLDER if is_older else once))
            continue
        _tell(block, points, room)
    return section


def _tell(block: Block, points: list[Row], room: Room) -> None:
    shown = coloured(block, points)
    # of a handful of samples an interval reaches down to -1: its end is cut rather than all else made flat
    ends = [row["pss"] if row["pss_low"] is None else max(row["pss_low"], row["pss"] - DEEPEST) for row in points]
    domain = domain_of(ends)
    room.draw(
        block,
        [
            Wanted(
                model,
                "by strategy",
                partial(_drawn, own, shown, domain, f"{cut(model, NAME)}, {cut(block.task_id, NAME)}"),
            )
            for model, own in by_model(points).items()
        ],
    )
    lines = [_line(row) for row in points]
    block.tables.append(room.table("PSS of a part of the samples", _COLUMNS, lines, 2, 4))


def _mart(row: Row) -> str:
    """The mart that a row is of: the whole is no row of the parts' mart."""
    return "fct_prompt_stability" if row["sample_share"] == 1 else "rpt_stability_by_share"


def _line(row: Row) -> tuple[Printed, ...]:
    of = Traced(_mart(row), row)
    share = "100 %" if row["sample_share"] == 1 else of.percent("sample_share")
    return (row["model_id"], row["strategy"], share, of.count("n_samples"), of.number("pss"), of.bounds("pss"))


def _drawn(points: list[Row], shown: list[str], domain: tuple[float, float], who: str) -> tuple[str, Markup]:
    data = [
        {"series": row["strategy"], "at": row["sample_share"], "value": row["pss"], "low": row["pss_low"],
         "high": row["pss_high"], "n": row["n_samples"], "figure": figure_id(_mart(row), row, "pss")}
        for row in points
        if row["strategy"] in shown
    ]  # fmt: skip
    shares = sorted({row["at"] for row in data})
    spans = {
        name: [row["value"] for row in data if row["series"] == name] for name in dict.fromkeys(row["series"] for row in data)
    }  # fmt: skip
    told = "; ".join(f"{cut(name, NAME)} {span(values)}" for name, values in spans.items())
    label = f"{who}: PSS by share of the samples ({', '.join(percent(share) for share in shares)}): {told}."
    return "", curves(
        data, shown, Axes(x="share of the samples", y="PSS", ticks=shares, domain=domain, format=".0%"), _FIELDS, label
    )
