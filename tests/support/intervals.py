"""Walks everything that shows an interval, and finds each beside the figure that it is of, with the figure inside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from promptaudit.query.analyses import analyses, analysis
from promptaudit.registry.mart_columns import MartColumn, dbt_project, mart_columns
from promptaudit.report.blocks.cells import Cell, Printed, cells_of
from promptaudit.report.charts.drawing import undrawn
from promptaudit.report.data import ReportData
from promptaudit.report.page import sections
from promptaudit.warehouse import Row, Warehouse
from promptaudit.warehouse.figure_names import parse_figure

LOW, HIGH = "_low", "_high"
ROUNDING = 1e-9

OF = {
    "consistency_wordings": "consistency",
    "wording_share_wordings": "wording_share",
    "noise_share_wordings": "noise_share",
    "item_share_wordings": "item_share",
    "pss_wordings": "pss",
    "pss_boot": "pss",
    "pss_cell": "pss",
    "pss_z": "pss",
}
"""Further intervals of a figure, by what they are called."""

NOT_INSIDE = {
    "pss_boot": "percentiles of resamples of samples: those of few samples lie to one side of alpha",
    "pss_cell": "percentiles of resampled cells without those drawn twice, as the published package has it",
    "pss_z": "around the mean of the resamples, which is not alpha itself",
}
"""Intervals that need not hold the figure they are of, each with the reason."""

NO_INTERVAL = {("rpt_pair_distances", "similarity")}
"""Columns of that name that are the ends of a bin."""

_TEXT = re.compile(
    r"(?P<figure>[-+]?\d*\.?\d+)(?P<unit> %| ms)?\)? \[(?P<low>[-+]?\d*\.?\d+)(?: %| ms)?, (?P<high>[-+]?\d*\.?\d+)(?: %| ms)?\]"
)


def outside_in_marts(warehouse: Path) -> list[str]:
    """Returns what is wrong with the intervals of the published marts: without their figure, or not around it."""
    published = Warehouse(warehouse).published
    tables = published.read("select table_name as name from information_schema.tables where table_schema = 'marts'")
    return [
        each
        for table in sorted(row["name"] for row in tables)
        for each in outside_in_rows(table, published.read(f"select * from marts.{table}"))
    ]


def figures_of_marts() -> list[tuple[str, MartColumn]]:
    """Returns every mart's columns that hold decimals, each with the mart's name."""
    marts = sorted(path.stem for path in (dbt_project() / "models" / "marts").glob("*/*.yml"))
    return [(mart, each) for mart in marts for each in mart_columns(mart).values() if each.data_type == "double"]


def outside_in_analyses(warehouse: Path) -> list[str]:
    """Returns what is wrong with the intervals of the analyses likewise."""
    published = Warehouse(warehouse).published
    return [each for name in analyses() for each in outside_in_rows(name, published.read(analysis(name)))]


def outside_in_rows(table: str, rows: Sequence[Row]) -> list[str]:
    """Returns what is wrong with the intervals of a table's rows, which all have the columns of the first."""
    names = set(rows[0]) if rows else set()
    stems = (name.removesuffix(LOW) for name in names if name.endswith(LOW) and name.removesuffix(LOW) + HIGH in names)
    wrong = []
    for stem in sorted(stem for stem in stems if (table, stem) not in NO_INTERVAL):
        figure = OF.get(stem, stem)
        if figure not in names:
            wrong.append(f"{table}: {stem}{LOW} without a figure {figure}")
        elif stem not in NOT_INSIDE:
            ends = ((row[figure], row[stem + LOW], row[stem + HIGH]) for row in rows)
            wrong += [
                f"{table}: {figure} {value}, {stem} [{low}, {high}]"
                for value, low, high in ends
                if not _is_inside(value, low, high)
            ]
    return wrong


def outside_in_sections(data: ReportData) -> list[str]:
    """Returns what is wrong with the intervals of a report's tables and notes: a figure stands in the row of its interval."""
    with undrawn():
        content = sections(data)
    wrong = []
    for section in (*content.first, *content.others):
        for block in section.blocks:
            printed: list[Sequence[Printed]] = [row for table in block.tables for row in table.rows]
            for row in (*printed, *((note,) for note in block.notes)):
                wrong += [f"{section.anchor}: {each}" for each in _outside_cells(cells_of(row))]
    return wrong


def outside_in_texts(lines: Iterable[str]) -> list[str]:
    """Returns the lines that print a figure before an interval which does not hold it, by more than they are rounded."""
    wrong = []
    for line in lines:
        for found in _TEXT.finditer(line):
            figure, low, high = (float(found[name]) for name in ("figure", "low", "high"))
            if not low - 0.0011 <= figure <= high + 0.0011:
                wrong.append(line.strip())
    return wrong


def n_in_texts(lines: Iterable[str]) -> int:
    """Returns how many intervals lines print: a walk that meets none shows nothing."""
    return sum(len(_TEXT.findall(line)) for line in lines)


def _is_inside(figure: float | None, low: float | None, high: float | None) -> bool:
    if figure is None:
        return low is None and high is None
    return (low is None or low - ROUNDING <= figure) and (high is None or figure <= high + ROUNDING)


def _outside_cells(cells: Sequence[Cell]) -> Iterator[str]:
    places = [parse_figure(cell.figure) for cell in cells]
    shown = {(mart, digits, column): cell for cell, (mart, column, digits) in zip(cells, places, strict=True)}
    for (mart, digits, column), cell in shown.items():
        if column is None or not column.endswith((LOW, HIGH)) or cell.value is None:
            continue
        stem = column.removesuffix(LOW).removesuffix(HIGH)
        if (mart, stem) in NO_INTERVAL:
            continue
        figure = shown.get((mart, digits, OF.get(stem, stem)))
        if figure is None:
            yield f"{cell.figure} stands without {OF.get(stem, stem)}"
        elif stem not in NOT_INSIDE and isinstance(figure.value, int | float) and isinstance(cell.value, int | float):
            ends = (cell.value, None) if column.endswith(LOW) else (None, cell.value)
            if not _is_inside(figure.value, *ends):
                yield f"{figure.figure} is {figure.value}, {cell.figure} {cell.value}"
