"""Texts as a spreadsheet can show them: no formula, no control characters, no more than a cell holds."""

from __future__ import annotations

import re

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take the beginning of a formula for
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}
MAX_CELL = 16_000  # Excel holds 32,767 UTF-16 units, up to two a character, and lets more run over into other cells
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def cell_of(text: str) -> str:
    r"""A text as a spreadsheet can show it: no formula, control characters as \x00, no more than a cell holds."""
    text = text.translate(CONTROLS)
    if len(text) > MAX_CELL:
        half = MAX_CELL // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters are left out here …\n{text[-half:]}"
    return f"'{text}" if text.startswith(FORMULA) else text


def number_or_cell(text: str) -> str:
    """A plain number as it is, any other text as `cell_of` has it."""
    return text if _NUMBER.fullmatch(text) else cell_of(text)
