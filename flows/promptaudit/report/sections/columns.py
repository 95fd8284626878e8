"""Tables of the sections: columns that print a mart's figures, names and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from promptaudit.report.blocks.blocks import MOST_ROWS, Table
from promptaudit.report.blocks.cells import Printed, Traced
from promptaudit.report.gather_judging import JudgingData
from promptaudit.system.display.figures import ABSENT, count, cut
from promptaudit.system.display.variant_names import numbered
from promptaudit.warehouse import Row

LONG_WORDING = 160


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, what prints its cell of a row, and whether it is aligned as a figure."""

    heading: str
    cell: Callable[[Traced], Printed]
    is_figure: bool = False


def words(heading: str, name: str) -> Column:
    """Returns a column of names or texts, printed as they are."""
    return Column(heading, lambda of: of.row[name])


def figure(heading: str, name: str, kind: Callable[[Traced, str], Printed] = Traced.number) -> Column:
    """Returns a column of a mart's figures with their names; `kind` is the method of `Traced` that prints them."""
    return Column(heading, lambda of: kind(of, name), is_figure=True)


def counted(heading: str, name: str) -> Column:
    """Returns a column of a mart's counts with their names."""
    return figure(heading, name, Traced.count)


def bounds(name: str, heading: str = "95 % interval") -> Column:
    """Returns a column of the intervals of a mart's figures."""
    return figure(heading, name, Traced.bounds)


def tally(heading: str, name: str) -> Column:
    """Returns a column of counts without names."""
    return Column(heading, lambda of: count(of.row[name]), is_figure=True)


def beside(mart: str, column: Column, otherwise: Callable[[Row], Printed] = lambda _: ABSENT) -> Column:
    """Returns a column of another mart's row, which a row holds under the mart's name; `otherwise` prints where it is None."""

    def cell(of: Traced) -> Printed:
        other = of.row[mart]
        return otherwise(of.row) if other is None else column.cell(Traced(mart, other))

    return replace(column, cell=cell)


def judge_errors(judging: JudgingData, method: str = "scoring_method") -> Column:
    """Returns the column on how often the judge of a row is wrong on controls, empty for rules."""
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
    n_heads: int = 2,
    is_open: bool = False,
    note: str = "",
    most: int = MOST_ROWS,
) -> Table:
    """Returns a table of the first `most` rows, which knows how many there are beyond them.

    `mart` is what the rows are of, or says so of each row; rows without one have no columns of named figures.
    """
    mart_of = mart if callable(mart) else lambda _: mart
    n_until_figures = max((place for place, column in enumerate(columns, 1) if not column.is_figure), default=0)
    return Table(
        caption=caption,
        columns=tuple(column.heading for column in columns),
        rows=[tuple(column.cell(Traced(mart_of(row), row)) for column in columns) for row in rows[:most]],
        n_heads=n_heads,
        n_figures=len(columns) - n_until_figures,
        is_open=is_open,
        note=note,
        n_in_all=len(rows),
    )


def variant_number(variant: Row | None) -> str:
    """Returns a variant as people number it: 3, 3 at 0.5, 7 (option order)."""
    return "?" if variant is None else numbered(variant)


def wording(variant: Row | None, longest: int = LONG_WORDING) -> str:
    """Returns the instruction of a variant, cut."""
    return cut((variant or {}).get("instruction") or "not recorded", longest)
