"""Tables as CSV, and texts as a spreadsheet can show them: no formula, no control characters, no more than a cell holds."""

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
    """Whatever text can be written to."""

    def write(self, text: str, /) -> object:
        """Takes the text."""


class CsvRows:
    """Writes rows as CSV, a line each, that read back as the same rows.

    Python's writer leaves a carriage return bare unless lines end in one, and readers take it for the end of a row.
    """

    def __init__(self, out: Writes) -> None:
        self._out = out
        self._writer = csv.writer(self, lineterminator="\r\n")

    def write(self, line: str, /) -> None:
        """Takes a whole line of Python's writer."""
        self._out.write(line.removesuffix("\r\n") + "\n")

    def row(self, values: Iterable[object]) -> None:
        """Writes one row; None is empty."""
        self._writer.writerow(values)


def cell_of(text: str) -> str:
    r"""Returns a text as a spreadsheet can show it: no formula, control characters as \x00, no more than a cell holds."""
    text = text.translate(CONTROLS)
    if len(text) > MAX_CELL:
        half = MAX_CELL // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters are left out here …\n{text[-half:]}"
    return f"'{text}" if text.startswith(FORMULA) else text


def number_or_cell(text: str) -> str:
    """Returns a plain number as it is, any other text as `cell_of` has it."""
    return text if _NUMBER.fullmatch(text) else cell_of(text)
