"""Formats the report's figures and other people's words; control, format and surrogate characters become visible."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

ABSENT = "–"
LONG = 300
NAME = 120
LINES = 8

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# joiners build emoji and Indic and Persian words: they reorder and hide nothing
_KEPT = {"\u200c", "\u200d"}


def shown(text: str) -> str:
    r"""Escapes control, format, surrogate and separator characters of a text: NUL as \x00, U+202E as \u202e."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable() or char in _KEPT:
        return char
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    is_none = (code & 0xFFFE) == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004 - Unicode's noncharacters
    if not is_none and unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return char
    if code <= 0xFF:  # noqa: PLR2004
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def cut(text: str, limit: int = LONG) -> str:
    """Cuts a text to `limit` characters and an ellipsis, and makes it safe to print."""
    return shown(text) if len(text) <= limit else shown(text[:limit].rstrip()) + "…"


def paragraph(text: str, limit: int = LONG) -> list[str]:
    """Cuts a text like `cut`, and keeps its first line breaks, as lines: eight of an excerpt, more of a longer text."""
    most = LINES * max(1, limit // LONG)
    is_long = len(text) > limit
    lines = [shown(line) for line in text[:limit].replace("\r\n", "\n").split("\n")]
    if is_long or len(lines) > most:
        lines = lines[:most]
        lines[-1] += "…"
    return lines


def finite(value: float | None) -> float | None:
    """Turns a figure into a plain number; a count stays whole. None for NULL, NaN and infinity."""
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(value)


def number(value: float | None, digits: int = 3) -> str:
    """Formats a figure to so many digits; NULL is a dash."""
    if value is None:
        return ABSENT
    text = f"{_settled(value):.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def chance(value: float | None) -> str:
    """Formats a p-value or q to four digits; a smaller one as <0.0001."""
    return "<0.0001" if value is not None and value < 0.00005 else number(value, 4)  # noqa: PLR2004 - rounds to 0


def _settled(value: float) -> float:
    # sums in another order differ in their last digits: 0.6075 would print as 0.607 or as 0.608
    return round(value, 9)


def in_unit(value: float | None, unit: str | None) -> str:
    """Formats a figure in its unit: rates in percent, amounts in USD, times in ms, counts whole, else three digits."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if unit == "count":
        return count(int(value))
    return _OF_UNIT.get(unit or "", number)(value)


def signed(value: float | None, unit: str | None = None) -> str:
    """Formats a difference in its unit, with its sign; a difference that prints as zero has none.

    A difference of logarithms is a ratio: `× 1.56`.
    """
    if unit in _OF_LOGARITHM and value is not None and math.isfinite(value):
        return f"× {math.exp(value):.2f}"
    text = in_unit(None if value is None else abs(value), unit)
    text = "0.0 %" if text.startswith("<") else text
    if value is None or not set(text) & set("123456789"):
        return text
    return f"{'-' if value < 0 else '+'}{text}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Formats `[low, high]`; empty if both ends are NULL."""
    return "" if low is None and high is None else f"[{number(low, digits)}, {number(high, digits)}]"


def ranged(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Formats a figure with its interval behind it."""
    return f"{number(value, digits)} {interval(low, high, digits)}".rstrip()


def ranged_in(value: float | None, low: float | None, high: float | None, unit: str | None) -> str:
    """Formats a figure with its interval behind it, in its unit."""
    around = "" if low is None and high is None else f" [{in_unit(low, unit)}, {in_unit(high, unit)}]"
    return f"{in_unit(value, unit)}{around}"


def moved(difference: float | None, low: float | None, high: float | None, unit: str | None = None) -> str:
    """Formats a difference with its interval, each with its sign: `+0.062 [+0.041, +0.083]`.

    An interval that lacks an end is left out.
    """
    is_known = all(end is not None and math.isfinite(end) for end in (low, high))
    return (
        f"{signed(difference, unit)} [{signed(low, unit)}, {signed(high, unit)}]"
        if is_known
        else signed(difference, unit)
    )


def span(values: Sequence[float]) -> str:
    """Formats the least and the largest of some figures; a single one if both print the same, a dash for none."""
    if not values:
        return ABSENT
    least, most = number(min(values)), number(max(values))
    return least if least == most else f"{least} to {most}"


def percent(value: float | None) -> str:
    """Formats a rate in per cent; small ones have more digits."""
    if value is None:
        return ABSENT
    scaled = _settled(100 * value)
    return f"{scaled:.0f} %" if scaled in (0, 100) else f"{scaled:.1f} %" if scaled >= 0.1 else "< 0.1 %"  # noqa: PLR2004


def share(value: float | None) -> str:
    """Formats a part of something in whole per cent; it may be negative."""
    return ABSENT if value is None else f"{round(_settled(100 * value))} %"


def share_interval(low: float | None, high: float | None) -> str:
    """Formats `[88 %, 100 %]`; empty if both ends are NULL."""
    return "" if low is None and high is None else f"[{share(low)}, {share(high)}]"


def usd(value: float | None) -> str:
    """Formats an amount in USD, with more digits for small ones: what was paid is never printed as nothing."""
    if finite(value) is None or value is None:
        return ABSENT
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    digits = 4 if abs(value) >= 0.0001 else 1 - math.floor(math.log10(abs(value)))  # noqa: PLR2004 - four digits show it
    return f"${value:.{digits}f}"


def milliseconds(value: float | None) -> str:
    """Formats a time in ms, with more digits for short ones."""
    if value is None:
        return ABSENT
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.2g} ms"  # noqa: PLR2004


def counted_of_logarithm(value: float | None, what: str) -> str:
    """Formats the count behind a natural logarithm of 1 and a count: `26 characters`, below ten with a digit."""
    if value is None:
        return ABSENT
    known = math.expm1(value)
    text = f"{known:,.0f}" if known >= 9.95 or abs(known - round(known)) < 0.05 else f"{known:.1f}"  # noqa: PLR2004
    return f"{text} {what.removesuffix('s') if text == '1' else what}"


_OF_LOGARITHM = {"log_characters": "characters", "log_tokens": "tokens"}
_OF_UNIT: Mapping[str, Callable[[float], str]] = {"rate": percent, "usd": usd, "ms": milliseconds} | {
    unit: partial(counted_of_logarithm, what=what) for unit, what in _OF_LOGARITHM.items()
}


def count(value: int | None) -> str:
    """Formats a whole number with separators."""
    return ABSENT if value is None else f"{value:,}"


def plural(n: int, one: str, many: str | None = None) -> str:
    """Formats a number of things: `1 night`, `1,200 nights`; `many` is for words that take more than an s."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def tally(counts: Mapping[str, int]) -> str:
    """Formats how often each of some of our words applies: `3 regressed, 2 not comparable`."""
    return ", ".join(f"{n:,} {word.replace('_', ' ')}" for word, n in counts.items())


def listed(names: Sequence[str], most: int, limit: int = NAME) -> str:
    """Lists the first few of other people's words and counts the rest: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(cut(name, limit) for name in names[:most])}{more}"


def counted_of(value: int | None, planned: int | None) -> str:
    """Formats a count, with the planned number behind it if that is another: `499 of 500`."""
    return count(value) if planned in (None, value) else f"{count(value)} of {count(planned)}"


def when(value: datetime | None) -> str:
    """Formats an instant in UTC to the second."""
    return ABSENT if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC"
