"""Defines cells of tables: plain text, or a figure with its full value and its name, which `trace` follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from promptaudit.registry.mart_columns import mart_columns
from promptaudit.system.display.figures import count, in_unit, milliseconds, number, percent, share
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A printed figure: its text, its name (`rpt_audit.sensitivity.4f1c2a9b0d3e`) and the value it is printed from."""

    text: str
    figure: str
    value: Value
    source: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)  # the mart's row
    is_strong: bool = False  # printed in bold

    def __str__(self) -> str:
        """Gives the text alone."""
        return self.text

    @property
    def exact(self) -> str:
        """The value written so that it reads back the same; empty for NULL."""
        return exact(self.value)

    @property
    def row(self) -> str:
        """The name of the mart's row with the figure: `rpt_audit.4f1c2a9b0d3e`."""
        mart, _, digits = self.figure.split(".")
        return f"{mart}.{digits}"


def exact(value: object) -> str:
    """Writes a value so that it reads back the same; empty for NULL."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


Part = str | Cell
Printed = str | Cell | tuple[Part, ...]  # what stands in one cell of a table


class Traced:
    """Prints columns of one row of a mart as cells that carry their names.

    `row` has the mart's grain. The functions are those in `display.figures`.
    """

    __slots__ = ("mart", "row")

    def __init__(self, mart: str, row: Row) -> None:
        self.mart = mart
        self.row = row

    def cell(self, column: str, text: str, *, is_strong: bool = False) -> Cell:
        """Prints the column as the given text."""
        return Cell(text, figure_id(self.mart, self.row, column), self.row[column], self.row, is_strong)

    def number(self, column: str, digits: int = 3, mark: str = "", *, is_strong: bool = False) -> Cell:
        """Prints the column as a figure, followed by `mark`."""
        return self.cell(column, number(self.row[column], digits) + mark, is_strong=is_strong)

    def count(self, column: str) -> Cell:
        """Prints the column as a whole number."""
        return self.cell(column, count(self.row[column]))

    def samples(self) -> Printed:
        """Prints how many samples were measured, followed by the number planned if it differs."""
        if self.row["n_samples_planned"] in (None, self.row["n_samples"]):
            return self.count("n_samples")
        return self.count("n_samples"), " of ", self.count("n_samples_planned")

    def variants(self) -> Printed:
        """Prints under how many variants each sample has answers, followed by the number planned if it differs."""
        if self.row["n_variants_answered"] == self.row["n_variants"]:
            return self.count("n_variants")
        return self.count("n_variants_answered"), " of ", self.count("n_variants")

    def percent(self, column: str) -> Cell:
        """Prints the column as a rate in per cent."""
        return self.cell(column, percent(self.row[column]))

    def measure(self, column: str) -> Cell:
        """Prints the column in its unit."""
        return self.cell(column, in_unit(self.row[column], mart_columns(self.mart)[column].unit))

    def share(self, column: str) -> Cell:
        """Prints the column as a share."""
        return self.cell(column, share(self.row[column]))

    def milliseconds(self, column: str) -> Cell:
        """Prints the column as a time."""
        return self.cell(column, milliseconds(self.row[column]))

    def bounds(self, stem: str, kind: str = "number") -> Printed:
        """Prints `[low, high]` from the columns `<stem>_low` and `<stem>_high`; empty if both are NULL."""
        low, high = f"{stem}_low", f"{stem}_high"
        if self.row.get(low) is None and self.row.get(high) is None:
            return ""
        return ("[", getattr(self, kind)(low), ", ", getattr(self, kind)(high), "]")

    def ranged(self, column: str) -> Printed:
        """Prints a figure followed by its interval."""
        bounds = self.bounds(column)
        return (self.number(column), " ", *parts(bounds)) if bounds else self.number(column)


def parts(printed: Printed) -> tuple[Part, ...]:
    """Splits a cell into its pieces."""
    return printed if isinstance(printed, tuple) else (printed,)


def plain(printed: Printed) -> str:
    """Joins the text of a cell's pieces."""
    return "".join(str(part) for part in parts(printed))


def cells_of(row: Iterable[Printed]) -> list[Cell]:
    """Lists the figures of a row that have a name, in order."""
    return [part for printed in row for part in parts(printed) if isinstance(part, Cell)]


def rows_of(row: Iterable[Printed]) -> list[str]:
    """Lists the names of the mart rows from which a row of a table is printed, each once."""
    return list(dict.fromkeys(cell.row for cell in cells_of(row)))
