"""The section on PSS of a part of the samples: how many of them it takes until the figure holds still."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from flows.report.answer_queries import MOST_ANSWERS
from flows.report.blocks import Block, Row, Section, by_group, by_task
from flows.report.cells import Printed, Traced
from flows.report.charts import domain_of
from flows.report.charts_of_answers import Axes, curves
from flows.report.gather import Gathered
from flows.report.room import Room, Wanted, by_model, coloured
from flows.report.sensitivity import why_no_answers, why_open
from flows.report.text import NAME, count, cut, interval, number, percent, span

if TYPE_CHECKING:
    from udfs.agreement import Level
    from udfs.stability import StabilityRow

PARTS = (0.25, 0.5, 0.75)  # and all of them, which the marts have
DEEPEST = 0.3  # below a figure, of what is drawn of its interval
MOST_GROUPS = 24  # a run: about a hundredth of a second each
_COLUMNS = ("Model", "Strategy", "Share of samples", "Samples", "PSS", "95 % interval")
_FIELDS = {"series": "strategy", "at": "share of samples", "value": "PSS", "low": "low", "high": "high", "n": "samples"}


def subsamples(found: Gathered, room: Room) -> Section:
    """PSS intra of 25, 50, 75 and 100 % of the samples."""
    section = Section(
        "subsamples",
        "PSS by share of the samples",
        "PSS by repetition (labels) of a part of the samples, chosen by a hash of the run's seed and their name, each part "
        "within the next; the parts are reckoned here from the answers, with the formula and 95 % interval of the whole. Of wide "
        "intervals the upper part is drawn; the table has the whole.",
    )
    levels = {row["task_id"]: (row["level"], row["labels"] or []) for row in found.tasks}
    rows_of, left = by_task(found.answered.asked_again), MOST_GROUPS
    over_all = {
        (row["task_id"], row["model_id"], row["strategy"]): row
        for row in found.stabilities
        if (row["scope"], row["series"], row["annotation_filter"]) == ("intra", "all", "valid")
    }
    for task_id, block, scored in section.of_tasks(found.scorecard):
        groups = by_group(rows_of.get(task_id, []))
        level, labels = levels.get(task_id, ("nominal", []))
        points = [
            {"model_id": group[0], "strategy": group[1], **point}
            for group, rows in list(groups.items())[:left]
            for point in _points([row["labels"] for row in rows], level, labels, over_all.get((task_id, *group)))
        ]
        left -= min(left, len(groups))
        if not points:
            many = f"Not derived: only of {MOST_GROUPS} models and strategies and {count(MOST_ANSWERS)} answers of a run at most."
            is_known = any(row["pss_intra"] is not None for row in scored)
            once = many if is_known else "No original wording was asked twice, so there are no repetitions to compare."
            block.absent.append(why_open(found, task_id) or why_no_answers(scored) or once)
            continue
        _tell(block, points, room)
        n, n_asked = (
            len({(row["model_id"], row["strategy"]) for row in points}),
            sum(row["pss_intra"] is not None for row in scored),
        )
        if n < n_asked:
            block.notes.append(f"Derived for {n} of {n_asked} model and strategy pairs, to keep the reckoning light.")
    return section


def _tell(block: Block, points: list[Row], room: Room) -> None:
    shown = coloured(block, points)
    # of a handful of samples an interval reaches down to -1: its end is cut rather than all else made flat
    ends = [point["value"] if point["low"] is None else max(point["low"], point["value"] - DEEPEST) for point in points]
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
    lines = [_line(point) for point in points]
    block.tables.append(room.table("PSS of a part of the samples", _COLUMNS, lines, 2, 4))


def stability_of(asked: Sequence[Sequence[str | None]], level: Level, labels: Sequence[str]) -> StabilityRow | None:
    """PSS over all asks of samples, each a list of labels in the asks' order (None: no valid answer); None for one ask.

    `labels`: all labels of the task in order, which counts at level ordinal; numbers at level interval.
    """
    import numpy as np

    from udfs.stability import prompt_stability

    known = list(dict.fromkeys([*labels, *(label for each in asked for label in each if label is not None)]))
    if level == "interval":
        known.sort(key=float)
    codes = {label: place for place, label in enumerate(known)}
    numbers = np.array(
        [float(label) if level == "interval" else place for place, label in enumerate(known)], np.float64
    )
    flat = [
        (place, ask, -1 if label is None else codes[label])
        for place, each in enumerate(asked)
        for ask, label in enumerate(each)
    ]
    sample, annotator, label = (np.array(column, np.int64) for column in zip(*flat, strict=True))
    measured = prompt_stability(
        sample, annotator, np.ones(len(sample), np.int64), label, numbers, level, is_balanced=False, seed=0, n_resamples=0,
    )  # fmt: skip
    return measured[-1] if measured else None


def _points(
    asked: Sequence[Sequence[str | None]], level: Level, labels: Sequence[str], over_all: Row | None
) -> list[Row]:
    """A point for each part of the samples that has a figure, the marts' own for all of them."""
    found: list[Row] = []
    for part in PARTS:
        row = stability_of(asked[: math.ceil(part * len(asked))], level, labels)
        if row is not None and not math.isnan(row.pss):
            low, high = (None if math.isnan(end) else end for end in (row.pss_low, row.pss_high))
            found.append({"at": part, "n": row.n_samples, "value": row.pss, "low": low, "high": high, "row": None})
    if over_all is not None and over_all["pss"] is not None:
        low, high = over_all["pss_low"], over_all["pss_high"]
        n, value = over_all["n_samples"], over_all["pss"]
        found.append({"at": 1.0, "n": n, "value": value, "low": low, "high": high, "row": over_all})
    return found


def _line(point: Row) -> tuple[Printed, ...]:
    named = (point["model_id"], point["strategy"], percent(point["at"]), count(point["n"]))
    if point["row"] is None:
        return (*named, number(point["value"]), interval(point["low"], point["high"]))
    of = Traced("fct_prompt_stability", point["row"])
    return (*named, of.number("pss"), of.bounds("pss"))


def _drawn(points: list[Row], shown: list[str], domain: tuple[float, float], who: str) -> tuple[str, Markup]:
    data = [
        {"series": row["strategy"], **{name: row[name] for name in ("at", "value", "low", "high", "n")}}
        for row in points
        if row["strategy"] in shown
    ]
    parts = sorted({row["at"] for row in data})
    spans = {
        name: [row["value"] for row in data if row["series"] == name] for name in dict.fromkeys(row["series"] for row in data)
    }  # fmt: skip
    told = "; ".join(f"{cut(name, NAME)} {span(values)}" for name, values in spans.items())
    label = f"{who}: PSS by share of the samples ({', '.join(percent(part) for part in parts)}): {told}."
    return "", curves(data, shown, Axes("share of the samples", "PSS", (*PARTS, 1.0), domain, ".0%"), _FIELDS, label)
