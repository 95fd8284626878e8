"""Tables of a query show every column whole where it can be, in as many tables as the width needs."""

from __future__ import annotations

import io
import re
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from promptaudit.query.tables import tables
from promptaudit.system.display.columns import parts_of
from tests.support.shell import promptaudit

NAMES = ["model_id", "a_column_of_a_long_name", "note", "sensitivity_corrected_low"]
ROWS = [["lexical", "0.25", "short", "0.1"], ["random", "–", "[bold]no markup[/bold]", "-0.0067986"]]


def drawn(width: int, names: list[str] = NAMES, rows: list[list[str]] = ROWS) -> list[list[str]]:
    """The lines of each table."""
    shown = []
    for table in tables(names, rows, width):
        out = io.StringIO()
        Console(file=out, width=width).print(table)
        shown.append(out.getvalue().splitlines())
    return shown


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split("[┃│]", line)[1:-1]]


def test_what_fits_is_one_table_without_numbers() -> None:
    (lines,) = drawn(120)
    assert cells(lines[1]) == NAMES
    assert [cells(line) for line in lines[3:-1]] == ROWS


@pytest.mark.parametrize("width", [40, 50, 70, 88])
def test_what_does_not_fit_goes_into_further_tables_and_is_cut_nowhere(width: int) -> None:
    shown = drawn(width)
    assert len(shown) > 1
    assert all(len(line) <= width for lines in shown for line in lines)
    assert [name for lines in shown for name in cells(lines[1])[1:]] == NAMES
    for number, row in enumerate(ROWS):
        assert [cell for lines in shown for cell in cells(lines[3 + number])[1:]] == row
        assert {cells(lines[3 + number])[0] for lines in shown} == {str(number + 1)}


def test_a_long_text_goes_on_in_the_next_line_between_its_words() -> None:
    (lines,) = drawn(100, ["n", "text"], [["1", "eleven char " * 12]])
    assert {cells(line)[1] for line in lines[3:-1]} <= {" ".join(["eleven char"] * n) for n in range(1, 6)}


def test_a_column_wider_than_the_terminal_has_a_table_of_its_own() -> None:
    shown = drawn(20, ["n", "digest", "m"], [["1", "f" * 64, "2"]])
    assert [cells(lines[1])[1:] for lines in shown] == [["n"], ["digest"], ["m"]]
    assert all(len(line) <= 20 for lines in shown for line in lines)
    assert "".join(cells(line)[1] for line in shown[1][3:-1]) == "f" * 64


def test_no_rows_are_a_heading() -> None:
    (lines,) = drawn(120, NAMES, [])
    assert cells(lines[1]) == NAMES


def test_columns_are_dealt_in_order_and_each_once() -> None:
    assert parts_of([5, 5, 5], 18) == [[0, 1, 2]]
    assert parts_of([5, 5, 5], 17) == [[0, 1], [2]]
    assert parts_of([5, 50, 5], 12, first=4) == [[0], [1], [2]]


@pytest.mark.slow
def test_without_a_terminal_a_table_is_200_columns_wide(tmp_path: Path) -> None:
    (tmp_path / "warehouse/published").mkdir(parents=True)
    duckdb.connect(str(tmp_path / "warehouse/published/audit.duckdb")).close()
    columns = ", ".join(f"{n} as column_number_{n}" for n in range(40))
    out = promptaudit(tmp_path, "sql", f"select {columns} from range(1002)").out
    names = re.findall(r"column_number_\d+", out)
    assert names == [f"column_number_{n}" for n in range(40)]
    assert max(map(len, out.splitlines())) <= 200
    assert out.endswith("2 more rows; --format csv or json holds them all\n")
