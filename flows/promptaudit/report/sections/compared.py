"""Prints rows of rpt_run_comparisons: costs as amounts, times in milliseconds, differences with their sign."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.marts.comparison.result import VERDICTS
from promptaudit.registry.mart_columns import compared_unit
from promptaudit.report.blocks.cells import Cell, Printed, Traced
from promptaudit.report.sections.columns import MODEL, STRATEGY, Column, words
from promptaudit.report.sections.columns import figure as column_of
from promptaudit.system.display.figures import chance, in_unit, signed
from promptaudit.warehouse import Row

MART = "rpt_run_comparisons"


def figure(of: Traced, column: str) -> Cell:
    """Returns a figure in its measure's unit."""
    return of.cell(column, in_unit(of.row[column], compared_unit(of.row["measure"])))


def difference(of: Traced, column: str) -> Cell:
    """Returns a difference with its sign."""
    return of.cell(column, signed(of.row[column], compared_unit(of.row["measure"])))


def around(of: Traced, stem: str = "difference") -> Printed:
    """Returns the interval of a difference; nothing where it has none."""
    low, high = f"{stem}_low", f"{stem}_high"
    if of.row[low] is None or of.row[high] is None:
        return ""
    return ("[", difference(of, low), ", ", difference(of, high), "]")


def gravest_first(rows: Sequence[Row]) -> list[Row]:
    """Returns rows by their verdict, those that regressed first."""
    return sorted(rows, key=lambda row: VERDICTS.index(row["verdict"]))


NAMES = (
    Column("Verdict", lambda of: of.row["verdict"].replace("_", " ")),
    MODEL,
    words("Task", "task_id"),
    STRATEGY,
    words("Measure", "measure"),
)
"""The columns that say which measure a row is about, and how it came out."""


def figures(candidate: str = "Candidate") -> tuple[Column, ...]:
    """Returns the columns of the two figures and their difference, under the candidate's name."""
    return (
        column_of("Base", "base", figure),
        column_of(candidate, "candidate", figure),
        column_of("Difference", "difference", difference),
        column_of("95 % interval", "difference", around),
    )


Q = column_of("q", "q_value", lambda of, name: of.cell(name, chance(of.row[name])))
DETECTABLE = column_of("Detectable", "detectable_difference")
