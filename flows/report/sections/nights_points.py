"""What the section on nights draws: the measures, their axes, and each model's figures as points of lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from flows.display.figures import cut
from flows.history.nights import differs
from flows.report.charts import panels
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id

Domain = tuple[float, float]


class Drawn(NamedTuple):
    """A measure that is drawn: its column of rpt_audit, its name, its name in comparisons, which way is worse."""

    column: str
    name: str
    measure: str
    is_worse_up: bool


MEASURES = (
    # the published figure is biased by few wordings; this one has the interval and compares at any number of them
    Drawn("sensitivity_corrected", "Sensitivity, corrected", "sensitivity", is_worse_up=True),
    Drawn("consistency", "Consistency", "consistency", is_worse_up=False),
    Drawn("pss_inter", "PSS inter", "pss_inter", is_worse_up=False),
    Drawn("micro_f1", "micro-F1", "micro_f1", is_worse_up=False),
    Drawn("invalid_rate", "Invalid rate", "invalid_rate", is_worse_up=True),
)


def domains(figures: Sequence[Row]) -> dict[tuple[str, str], Domain]:
    """The axis of each task and measure, the same in all its charts: whole tenths that hold figures and intervals.

    Where lower is better it starts at 0, at -.1 where a corrected figure lies below, and ends at 1 at most; where higher is
    better it ends at 1 (`charts.domain_of`).
    """
    out = {}
    for task_id in {row["task_id"] for row in figures}:
        own = [row for row in figures if row["task_id"] == task_id]
        for column, _, _, is_worse_up in MEASURES:
            known = [row[column + end] for row in own for end in ("", "_low", "_high") if row[column + end] is not None]
            if is_worse_up:
                high = math.ceil(max(known, default=0.0) * 10 - 1e-9) / 10
                low = math.floor(min(known, default=0.0) * 10) / 10
                out[task_id, column] = max(-0.1, min(0.0, low)), min(1.0, max(0.1, high))
            else:
                out[task_id, column] = panels.domain_of(known)
    return out


def points(
    rows: Sequence[Row], column: str, series: int, names: dict[str, str], worse: set[tuple[str, str]]
) -> list[Row]:
    """A model's figures as `charts.nights` takes them; nights that follow each other and compare share a segment.

    rows: one a night, oldest first. names: of every night by run id, in order. worse: (run, model) that are marked.
    """
    places = {run: place for place, run in enumerate(names)}
    out: list[Row] = []
    last: Row | None = None
    for row in rows:
        run = row["audit_run_id"]
        if row[column] is None:
            continue
        is_next = last is not None and places[run] == places[last["audit_run_id"]] + 1
        is_joined = is_next and last is not None and not differs(last, row)
        out.append(
            {"night": names[run], "series": series, "value": row[column], "low": row[column + "_low"],
             "high": row[column + "_high"], "segment": out[-1]["segment"] if is_joined else f"{series} {len(out)}",
             "is_marked": (run, row["model_id"]) in worse, "model": cut(row["model_id"], 60),
             "figure": figure_id("rpt_audit", row, column)}
        )  # fmt: skip
        last = row
    for _, segment in groupby(out, key=lambda point: point["segment"]):
        found = list(segment)
        for point in found:
            point["is_alone"] = len(found) == 1
    return out
