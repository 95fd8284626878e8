"""Sheets are read as a spreadsheet shows them, and files that are none, or grow too large, are one line."""

from __future__ import annotations

import datetime as dt
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from promptaudit.registry import read_xlsx
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.registry.extras import MODULES
from promptaudit.registry.tables import read_text_table

HEADER = ["id", "text"]


def saved(folder: Path, *sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"Sheet {number}")
        for row in rows:
            sheet.append(row)
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def changed(path: Path, member: str, old: str, new: str) -> Path:
    """The file with a text of one member in place of another."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old in members[member].decode()
    members[member] = members[member].decode().replace(old, new).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("N/A", "N/A"),
        ("None", "None"),
        ("010", "010"),
        (" a\nb ", " a\nb "),
        ("=1+1", "=1+1"),
        (1, "1"),
        (1.0, "1"),
        (0.1 + 0.2, "0.3"),
        (1e-7, "1e-07"),
        (True, "TRUE"),
        (dt.datetime(2024, 3, 4), "2024-03-04"),
        (dt.datetime(2024, 3, 4, 5, 6), "2024-03-04 05:06:00"),
        (dt.time(5, 6), "05:06:00"),
        ("#N/A", "#N/A"),
        (None, ""),
    ],
)
def test_a_cell_is_the_text_that_is_shown(tmp_path: Path, value: object, text: str) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(HEADER)
    sheet.append(["x", value])
    if isinstance(value, str) and value.startswith("="):
        sheet["B2"].data_type = "s"
    book.save(tmp_path / "a.xlsx")
    assert read_text_table(tmp_path / "a.xlsx").rows() == [("x", text)]


def test_a_number_that_is_shown_with_zeros_keeps_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(HEADER)
    book.active.append([7, 1])
    book.active["A2"].number_format = "000"
    book.save(tmp_path / "a.xlsx")
    assert read_text_table(tmp_path / "a.xlsx").rows() == [("007", "1")]


@pytest.mark.parametrize("value", [10**15, -(10**15), 1234567890123456789, 1.2345678901234568e16])
def test_a_number_that_lost_digits_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(
        DataError, match=r"a\.xlsx: cell A3 is a number of more than 15 digits, .*: format its column as text"
    ):
        read_text_table(saved(tmp_path, [HEADER, [10**15 - 1, "a"], [value, "b"]]))
    path = saved(tmp_path, [HEADER, [10**15 - 1, "a"], [str(value), "b"]])
    assert read_text_table(path)["id"].to_list() == ["999999999999999", str(value)]


def test_what_is_blank_around_the_rows_is_left_out(tmp_path: Path) -> None:
    path = saved(tmp_path, [[]], [[None], [" id ", None, "text", None], ["1", None, "a"], [], ["2"]])
    assert read_text_table(path).to_dicts() == [{"id": "1", "text": "a"}, {"id": "2", "text": ""}]
    assert read_text_table(saved(tmp_path, [[]])).is_empty()
    assert read_text_table(saved(tmp_path, [[None, "id"], [0, "a"]])).to_dicts() == [{"": "0", "id": "a"}]  # an index


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ([[HEADER, ["1", "a"]], [["mine"]]], r"2 sheets have rows \(Sheet 1, Sheet 2\); leave the one to be read"),
        ([[["Results of May"], [], HEADER, ["1", "a"]]], "line 1 is no header; where line 2 names them"),
        ([[["Results", None, None], [*HEADER, "mine"], ["1", "a", "b"]]], "where line 2 names them"),
        ([[HEADER, ["1", "a", "b"]]], "row 1: 3 fields, the header has 2"),
        ([[["id", "id"], ["1", "a"]]], "column 'id' stands twice"),
        ([[HEADER, ["1", "=A2"]]], "cell B2 is a formula without a value; open the file in a spreadsheet and save it"),
        ([[[f"c{n}" for n in range(1001)]]], "1001 columns, at most 1000 are read"),
    ],
)
def test_what_is_no_table_is_named(tmp_path: Path, sheets: list[list[list[Any]]], message: str) -> None:
    path = saved(tmp_path, *sheets)
    with pytest.raises(DataError, match=rf"a\.xlsx.*{message}"):
        read_text_table(path)


@pytest.mark.parametrize(("computed", "text"), [("<v>3</v>", "3"), ('<v></v>" t="str', "")])
def test_a_formula_is_what_the_spreadsheet_computed(tmp_path: Path, computed: str, text: str) -> None:
    path = saved(tmp_path, [HEADER, ["1", "=1+2"]])
    value, _, kind = computed.partition('"')
    changed(path, "xl/worksheets/sheet1.xml", "<f>1+2</f><v />", f"<f>1+2</f>{value}")
    if kind:
        changed(path, "xl/worksheets/sheet1.xml", '<c r="B2">', '<c r="B2" t="str">')
    assert read_text_table(path).rows() == [("1", text)]


def test_without_its_extra_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, [HEADER, ["1", "a"]])
    monkeypatch.setitem(sys.modules, MODULES["xlsx"], None)
    with pytest.raises(UsageError, match=r"needs the extra `xlsx`: python -m pip install 'promptaudit\[xlsx\]'"):
        read_text_table(path)


# ---------------------------------------------------------------- files of nobody's spreadsheet
def packed(**members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name.replace("__", "/") + ".xml", member)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x", "not readable as XLSX: save it as .xlsx, without a password"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 100, "without a password"),
        (packed(a=b"<a/>"), "not readable as XLSX: KeyError"),
        (packed(a=b" " * (80 << 20)), r"more than [\d,]+ bytes when unpacked; split it"),
        (packed(xl__worksheets__sheet1=b"<row>" + b"<c/>" * (3 << 20)), "more cells than a file of its size may have"),
    ],
    ids=["text", "password", "no sheets", "blanks", "cells"],
)
def test_what_is_broken_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=rf"a\.xlsx: .*{message}"):
        read_text_table(tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("member", "old", "new"),
    [
        ("xl/worksheets/sheet1.xml", '<row r="2"', '<row r="99999999999"'),
        ("xl/worksheets/sheet1.xml", 'r="B2"', 'r="ZZZ2"'),
        ("xl/worksheets/sheet1.xml", 'r="B2"', 'r="ZZZZZZ2"'),
        ("xl/worksheets/sheet1.xml", 't="inlineStr"><is><t>text</t></is>', 't="s"><v>99</v>'),
        ("xl/worksheets/sheet1.xml", "<t>text</t>", "<t>&x;</t>"),
        ("xl/workbook.xml", "<sheets>", "<sheets><"),
    ],
)
def test_altered_files_are_one_line_too(tmp_path: Path, member: str, old: str, new: str) -> None:
    path = changed(saved(tmp_path, [HEADER, ["1", "a"]]), member, old, new)
    with pytest.raises(DataError, match=r"a\.xlsx"):
        read_text_table(path)


def test_one_long_text_in_many_cells_is_counted_in_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_xlsx, "MAX_UNPACKED", 0)
    path = saved(tmp_path, [HEADER, *[[str(n), "a" * 30_000] for n in range(100)]])
    with pytest.raises(DataError, match=r"a\.xlsx row \d+: more than [\d,]+ bytes of text"):
        read_text_table(path)
