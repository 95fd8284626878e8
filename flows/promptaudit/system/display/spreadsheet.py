"""Writes tables as CSV, and makes texts safe for a spreadsheet: no formula, no control characters, no overlong cell."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Protocol

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take the beginning of a formula for
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}
MAX_CELL = 16_000  # Excel holds 32,767 UTF-16 units, up to two a character, and lets more run over into other cells
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class Writes(Protocol):
    """Any object that text can be written to."""

    def write(self, text: str, /) -> object:
        """Takes the text."""


class CsvRows:
    """Writes rows as CSV, a line each, that read back as the same rows.

    Python's writer leaves a carriage return unquoted unless lines end in one, and readers take it for the end of a row.
    """

    def __init__(self, out: Writes) -> None:
        self._out = out
        self._writer = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str, /) -> None:
        """Passes on a whole line of Python's writer, which ends in LF."""
        self._out.write(line.removesuffix("\r\n") + "\n")

    def row(self, values: Iterable[object]) -> None:
        """Writes one row; None is empty."""
        self._writer.writerow(values)


def cell_of(text: str) -> str:
    r"""Makes a text safe to show in a spreadsheet: no formula, control characters as \x00, at most MAX_CELL characters.

    The middle of a longer text is left out.
    """
    text = text.translate(CONTROLS)
    if len(text) > MAX_CELL:
        half = MAX_CELL // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters are left out here …\n{text[-half:]}"
    return f"'{text}" if text.startswith(FORMULA) else text


def number_or_cell(text: str) -> str:
    """Leaves a plain number as it is, and converts any other text by `cell_of`."""
    return text if _NUMBER.fullmatch(text) else cell_of(text)
