"""Reads a date as people write it: ISO, a month in words, or day and month in numbers that have one meaning."""

from __future__ import annotations

import datetime as dt
import re

MAX_CHARACTERS = 100

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    "sept": 9,
    **{n: i for i, n in enumerate(_LONG, 1)},
}
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[.,]?\s+", re.IGNORECASE)
_TIME = r"(?:[T\s]\s*\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.IGNORECASE)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|[nr]d|th)?[\s.-]*(?:of\s+)?([A-Za-z]{3,9})\.?[\s,-]*(\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.?[\s-]*(\d{1,2})(?:st|[nr]d|th)?[\s,-]+(\d{4})")
_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")


def iso_date(text: str) -> str | None:
    """Reads a date and writes it as YYYY-MM-DD; None for a text that is no date, or may be two.

    It reads 2024-03-05, 2024/3/5, 20240305, the same with a time behind it, which is left out, "5 March 2024", "March
    5th, 2024", "Tue, 05-Mar-2024", and 25/03/2024 or 03/25/2024, where one of the two numbers is no month. 03/05/2024
    is March in one country and May in another, so it is none, but 05/05/2024 is one. A year has four digits; months in
    words are English.

    Example:
        >>> iso_date("March 5th, 2024"), iso_date("25.03.2024"), iso_date("03/05/2024")
        ('2024-03-05', '2024-03-25', None)
    """
    text = text.strip()
    if len(text) > MAX_CHARACTERS or not text.isascii():
        return None
    weekday = _WEEKDAY.match(text)
    text = text[weekday.end() :] if weekday else text
    if found := _YEAR_FIRST.fullmatch(text):
        return _date(found[1], found[3], found[4])
    if found := _COMPACT.fullmatch(text):
        return _date(*found.groups())
    if found := _DAY_FIRST.fullmatch(text):
        return _date(found[3], _MONTH.get(found[2].lower(), 0), found[1])
    if found := _MONTH_FIRST.fullmatch(text):
        return _date(found[3], _MONTH.get(found[1].lower(), 0), found[2])
    found = _NUMBERS.fullmatch(text)
    return None if found is None else _of_numbers(found[1], found[3], found[4])


def _of_numbers(first: str, second: str, year: str) -> str | None:
    # None where the numbers may be two dates, or none
    dates = {_date(year, first, second), _date(year, second, first)} - {None}
    return dates.pop() if len(dates) == 1 else None


def _date(year: str, month: str | int, day: str) -> str | None:
    try:
        return dt.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
