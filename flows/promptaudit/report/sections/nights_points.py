"""What the charts of nights are drawn from: the measures, their axes, and each model's figures as points of lines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from promptaudit.query.history.nights import differs
from promptaudit.registry.mart_columns import ENDS, MartColumn, scorecard_columns
from promptaudit.report.blocks.blocks import by
from promptaudit.report.charts import panels
from promptaudit.report.sections.room import point
from promptaudit.system.display.figures import cut
from promptaudit.warehouse import Row


def drawn_measures() -> tuple[MartColumn, ...]:
    """Returns the measures that are drawn over the nights, in the scorecard's order."""
    return tuple(column for column in scorecard_columns() if column.is_in_nights)


def domains(figures: Sequence[Row]) -> dict[tuple[str, str], panels.Domain]:
    """Returns the axis of each task and measure, the same in all its charts: whole tenths that hold figures and intervals.

    Where lower is better it starts at 0, at -.1 where a corrected figure lies below, and ends at 1 at most; where higher is
    better it ends at 1 (`panels.domain_of`).
    """
    out = {}
    for task_id, own in by(figures, "task_id").items():
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
    rows: Sequence[Row],
    column: str,
    series: int,
    names: dict[str, str],
    worse: set[tuple[str, str]],
    bands: Mapping[tuple[str, str], tuple[float, float]] = MappingProxyType({}),
) -> list[Row]:
    """Returns a model's figures as `panels.nights` takes them; nights that follow each other and compare share a segment.

    rows: one a night, oldest first. names: of every night by run id, in order. worse: (run, model) that are marked. bands: the
    normal band of each (run, model) that has one.
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
            point(
                "rpt_audit",
                row,
                column,
                night=names[run],
                series=series,
                model=cut(row["model_id"], 60),
                segment=out[-1]["segment"] if is_joined else f"{series} {len(out)}",
                is_marked=(run, row["model_id"]) in worse,
                **dict(zip(("normal_low", "normal_high"), bands.get((run, row["model_id"]), ()), strict=False)),
            )
        )
        last = row
    n_of_segment = Counter(drawn["segment"] for drawn in out)
    return [{**drawn, "is_alone": n_of_segment[drawn["segment"]] == 1} for drawn in out]
