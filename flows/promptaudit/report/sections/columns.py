"""Builds tables of the sections: columns of figures, names and intervals, and tables across tasks and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from promptaudit.marts.comparison.result import VERDICTS
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.report.blocks.blocks import MOST_ROWS, Table
from promptaudit.report.blocks.cells import Cell, Printed, Traced
from promptaudit.report.data import JudgingData
from promptaudit.system.display.figures import ABSENT, NAME, chance, count, cut, in_unit, signed
from promptaudit.system.display.variant_names import numbered
from promptaudit.warehouse import Row

LONG_WORDING = 160


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, the function that prints a row's cell, whether it is aligned as a figure."""

    heading: str
    cell: Callable[[Traced], Printed]
    is_figure: bool = False


def words(heading: str, name: str, otherwise: str | None = None) -> Column:
    """Makes a column of names or texts, printed as they are. `otherwise` stands for one that is missing or empty."""
    return Column(heading, lambda of: of.row[name] if otherwise is None else str(of.row[name] or otherwise))


def figure(heading: str, name: str, kind: Callable[[Traced, str], Printed] = Traced.number) -> Column:
    """Makes a column of a mart's figures with their names. `kind` is the method of `Traced` that prints them."""
    return Column(heading, lambda of: kind(of, name), is_figure=True)


def counted(heading: str, name: str) -> Column:
    """Makes a column of a mart's counts with their names."""
    return figure(heading, name, Traced.count)


def bounds(name: str, heading: str = "95 % interval") -> Column:
    """Makes a column of the intervals of a mart's figures."""
    return figure(heading, name, Traced.bounds)


def tally(heading: str, name: str) -> Column:
    """Makes a column of counts without names."""
    return Column(heading, lambda of: count(of.row[name]), is_figure=True)


def beside(mart: str, column: Column, otherwise: Callable[[Row], Printed] = lambda _: ABSENT) -> Column:
    """Makes a column of another mart's row, stored in each row under that mart's name.

    `otherwise` prints the cell if that row is None.
    """

    def cell(of: Traced) -> Printed:
        other = of.row[mart]
        return otherwise(of.row) if other is None else column.cell(Traced(mart, other))

    return replace(column, cell=cell)


def judge_errors(judging: JudgingData, method: str = "scoring_method") -> Column:
    """Makes the column on how often the judge of a row is wrong on controls; empty for rules."""
    errors = judging.errors
    return Column("Judge wrong on controls", lambda of: errors.get((of.row["task_id"], of.row[method]), ""))


MODEL, STRATEGY = words("Model", "model_id"), words("Strategy", "strategy")
N_SAMPLES = counted("Samples", "n_samples")


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    mart: str | Callable[[Row], str] = "",
    *,
    most: int = MOST_ROWS,
    **options: Any,
) -> Table:
    """Makes a table of the first `most` rows, with a count of all rows. For the options see `Table`.

    `mart` is the mart of the rows, or a function that gives the mart of each row. Rows without one have no columns of
    named figures.
    """
    mart_of = mart if callable(mart) else lambda _: mart
    n_until_figures = max((place for place, column in enumerate(columns, 1) if not column.is_figure), default=0)
    return Table(
        caption=caption,
        columns=tuple(column.heading for column in columns),
        rows=[tuple(column.cell(Traced(mart_of(row), row)) for column in columns) for row in rows[:most]],
        n_figures=len(columns) - n_until_figures,
        n_in_all=len(rows),
        **{"n_heads": 2, **options},
    )


def variant_number(variant: Row | None) -> str:
    """Numbers a variant as people do: 3, 3 at 0.5, 7 (option order); ? for None."""
    return "?" if variant is None else numbered(variant)


def wording(variant: Row | None, longest: int = LONG_WORDING) -> str:
    """Gives the instruction of a variant, cut, or "not recorded"."""
    return cut((variant or {}).get("instruction") or "not recorded", longest)


Key = tuple[str, ...]


def pivoted(
    caption: str,
    heads: Mapping[str, str],
    rows: Sequence[Row],
    cell: Callable[[Row], Printed],
    *,
    across: str = "model_id",
    last: Mapping[str, Callable[[Key], Printed]] = MappingProxyType({}),
    **options: Any,
) -> Table:
    """Makes a table in which the values of a column become columns. Reference models (`is_reference`) stand last.

    `heads` maps headings of the columns that name a line to the mart's columns.

    across: the column whose values become the table's columns. cell: prints one row. last: further columns after these,
    printed from the key of a line. For the options see `Table`.
    """
    references_last = sorted(rows, key=lambda row: bool(row.get("is_reference")))
    names = {row[across]: row.get("is_reference", False) for row in references_last}
    lines: dict[Key, dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row[name] for name in heads.values()), {})[row[across]] = row
    headings = [cut(name, NAME) + (" (reference)" if is_reference else "") for name, is_reference in names.items()]
    cells = [
        (*key, *(cell(own[name]) if name in own else "" for name in names), *(column(key) for column in last.values()))
        for key, own in list(lines.items())[:MOST_ROWS]
    ]
    return Table(
        caption=caption,
        columns=(*heads, *headings, *last),
        rows=cells,
        n_heads=len(heads),
        n_figures=len(names) + len(last),
        n_in_all=len(lines),
        has_traces=False,
        **{"is_open": True, **options},
    )


def n_tasks(rows: Sequence[Row]) -> int:
    """Counts the tasks that rows are about."""
    return len({row["task_id"] for row in rows})


COMPARED = "rpt_run_comparisons"


def compared_figure(of: Traced, column: str) -> Cell:
    """Prints a figure in its measure's unit."""
    return of.cell(column, in_unit(of.row[column], compared_unit(of.row["measure"])))


def difference(of: Traced, column: str) -> Cell:
    """Prints a difference with its sign."""
    return of.cell(column, signed(of.row[column], compared_unit(of.row["measure"])))


def around(of: Traced, stem: str) -> Printed:
    """Prints the interval of a difference; empty if an end is missing."""
    low, high = f"{stem}_low", f"{stem}_high"
    if None in (of.row[low], of.row[high]):
        return ""
    return ("[", difference(of, low), ", ", difference(of, high), "]")


def gravest_first(rows: Sequence[Row]) -> list[Row]:
    """Sorts rows by their verdict, regressed first."""
    return sorted(rows, key=lambda row: VERDICTS.index(row["verdict"]))


COMPARED_NAMES = (
    *(Column("Verdict", lambda of: of.row["verdict"].replace("_", " ")), MODEL),
    *(words("Task", "task_id"), STRATEGY, words("Measure", "measure")),
)
"""The columns that say which measure a row is about, and how it came out."""


def compared_figures(candidate: str = "Candidate") -> tuple[Column, ...]:
    """Makes the columns of both figures and their difference. `candidate` is the heading of the second figure."""
    figures = (figure("Base", "base", compared_figure), figure(candidate, "candidate", compared_figure))
    return (*figures, figure("Difference", "difference", difference), figure("95 % interval", "difference", around))


Q = figure("q", "q_value", lambda of, name: of.cell(name, chance(of.row[name])))
DETECTABLE = figure("Detectable", "detectable_difference")
