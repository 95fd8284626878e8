"""Writes tables that go into a paper: as CSV with figures at full precision, and as LaTeX as the page prints them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from promptaudit.report.blocks.blocks import Table
from promptaudit.report.blocks.cells import Cell, Part, Printed, parts
from promptaudit.system.display.figures import shown
from promptaudit.system.display.spreadsheet import CsvRows, number_or_cell
from promptaudit.warehouse.figure_names import parse_figure

_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': "''",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "κ": r"$\kappa$",
    "†": r"$^\dagger$",
    "–": "--",
    "*": r"$^*$",
    "`": r"\textasciigrave{}",
}
_ESCAPES = str.maketrans(_TEX)


def as_csv(table: Table) -> str:
    """Writes a line per row.

    A column with several figures becomes several columns, each named after its mart's column too.
    """
    spread = [_figures_of([row[place] for row in table.rows]) for place in range(len(table.columns))]
    out = io.StringIO()
    rows = CsvRows(out)
    rows.row(
        number_or_cell(shown(name if len(own) < 2 else f"{name} {column}"))  # noqa: PLR2004 - one figure needs no second name
        for name, own in zip(table.columns, spread, strict=True)
        for column in own or [""]
    )
    for row in table.rows:
        rows.row(value for cell, own in zip(row, spread, strict=True) for value in _values(cell, own))
    return out.getvalue()


def _figures_of(cells: Sequence[Printed]) -> list[str]:
    return list(dict.fromkeys(_column(part) for cell in cells for part in parts(cell) if isinstance(part, Cell)))


def _values(cell: Printed, own: Sequence[str]) -> Iterator[str]:
    if not own:
        yield number_or_cell(shown("".join(map(str, parts(cell)))))
        return
    there = {_column(part): part.exact for part in parts(cell) if isinstance(part, Cell)}
    yield from (number_or_cell(there.get(column, "")) for column in own)


def _column(cell: Cell) -> str:
    return parse_figure(cell.figure)[1] or ""


def as_latex(table: Table) -> str:
    """Writes a tabular, with the caption and the note as comments. It needs no package."""
    n_words = len(table.columns) - table.n_figures
    lines = [
        f"% {shown(table.caption)}",
        f"\\begin{{tabular}}{{{'l' * n_words}{'r' * table.n_figures}}}",
        r"\hline",
        _line([_tex(column) for column in table.columns]),
        r"\hline",
        *(_line(["".join(map(_part, parts(cell))) for cell in row]) for row in table.rows),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join([*lines, f"% {shown(table.note)}" if table.note else ""]).rstrip("\n") + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _part(part: Part) -> str:
    words = str(part)
    if not isinstance(part, Cell):
        return _tex(words)
    figure = f"$-${_tex(words[1:])}" if words.startswith("-") else _tex(words)
    return rf"\textbf{{{figure}}}" if part.is_strong else figure


def _tex(text: str) -> str:
    return shown(text).translate(_ESCAPES)
