"""Curves and columns that the sections on PSS share."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from promptaudit.report.blocks.blocks import MOST_ROWS, Block, Table
from promptaudit.report.charts import panels
from promptaudit.report.charts.curves import Axes, curves
from promptaudit.report.sections.columns import Column, bounds, table, tally, words
from promptaudit.report.sections.room import Drawn, Room, charts_of_pairs, point
from promptaudit.system.display.figures import ranged
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

MART = "fct_prompt_stability"
CONVENTION = "A PSS of .8 or more, the dashed line, is often read as stable, which is only a convention."
BANDS = (("first", "labels (N/A among them)"), ("second", "verbatim (every distinct completion)"))
SERIES = tuple(panels.PSS_SERIES)


ANSWERS, SAMPLES = words("Answers", "annotation_filter"), tally("Samples", "n_samples")
PSS = Column("PSS", lambda of: of.number("pss", mark=" *" if of.row["is_degenerate"] else ""), is_figure=True)
INTERVAL = bounds("pss")


def draw_series(block: Block, rows: list[Row], room: Room, axis: str, *, has_table: bool = True) -> None:
    """Draws PSS over the first k of something, a chart a model and strategy; `axis` says of what."""
    draw = partial(_first_k, domain=domain_of(rows), axis=axis, has_table=has_table)
    room.draw_pairs(block, charts_of_pairs(rows, block.task_id, draw))


def _first_k(rows: list[Row], who: str, *, domain: panels.Domain, axis: str, has_table: bool) -> Drawn:
    points = [
        {
            "series": row["annotation_filter"],
            "k": row["n_annotators"],
            "pss": row["pss"],
            "low": row["pss_low"],
            "high": row["pss_high"],
            "figure": figure_id(MART, row, "pss"),
        }
        for row in rows
    ]
    last = {row["annotation_filter"]: row for row in rows}
    values = ", ".join(f"{name} {ranged(row['pss'], row['pss_low'], row['pss_high'])}" for name, row in last.items())
    most = max(row["n_annotators"] for row in rows)
    label = f"{who}: PSS over the first 2 to {most} {axis}; over all of them: {values}."
    return "", panels.lines(points, domain, axis, label, has_table=has_table)


def curves_of(rows: list[Row], at: str, title: str, word: str, domain: panels.Domain, label: str) -> Markup:
    """Returns PSS as a line a kind of annotation over the column `at`, which `title` and `word` name on axis and marks."""
    points = [point(MART, row, "pss", at=row[at], series=row["annotation_filter"]) for row in rows]
    axes = Axes(x=title, y="PSS", ticks=sorted({row[at] for row in rows}), domain=domain, level=panels.STABLE)
    fields = {"series": "answers", "at": word, "value": "PSS", "low": "low", "high": "high"}
    return curves(points, SERIES, axes, fields, label)


def domain_of(rows: list[Row]) -> panels.Domain:
    """Returns an axis that holds the lower ends of all intervals."""
    return panels.domain_of([row["pss_low"] if row["pss_low"] is not None else row["pss"] for row in rows])


def starred_table(
    caption: str, columns: tuple[Column, ...], rows: list[Row], starred: list[Row], most: int = MOST_ROWS
) -> Table:
    """Returns a table whose note explains the star, where one of the starred rows has it."""
    star = (
        "* There is no variation at all, so a PSS of 1 says little."
        if any(row["is_degenerate"] for row in starred)
        else ""
    )
    return table(caption, columns, rows, MART, n_heads=3, note=star, most=most)
