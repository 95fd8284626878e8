"""What the section on nights draws: the measures, their axes, and each model's figures as points of lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from flows.display.figures import cut
from flows.history.nights import differs
from flows.report.charts import panels
from flows.warehouse import Row
from flows.warehouse.figure_names import figure_id
from models_registry.mart_columns import ENDS, MartColumn, scorecard_columns

Domain = tuple[float, float]


def drawn_measures() -> tuple[MartColumn, ...]:
    """Returns the measures that are drawn over the nights, in the scorecard's order."""
    return tuple(column for column in scorecard_columns() if column.is_in_nights)


def domains(figures: Sequence[Row]) -> dict[tuple[str, str], Domain]:
    """The axis of each task and measure, the same in all its charts: whole tenths that hold figures and intervals.

    Where lower is better it starts at 0, at -.1 where a corrected figure lies below, and ends at 1 at most; where higher is
    better it ends at 1 (`charts.domain_of`).
    """
    out = {}
    for task_id in {row["task_id"] for row in figures}:
        own = [row for row in figures if row["task_id"] == task_id]
        for measure in drawn_measures():
            column, figures_of = measure.name, [row.get(measure.name + end) for row in own for end in ("", *ENDS)]
            known = [figure for figure in figures_of if figure is not None]
            if measure.direction == "lower":
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
        if row.get(column) is None:
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
