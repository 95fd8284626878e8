r"""Reads the plain numbers of answers, exactly: most answers are one, and need no computer algebra.

It reads integers, decimals, fractions, mixed numbers and powers of ten, with a sign, thousands' separators, a percent
sign, a unit behind them, or `x =` before them: `1,234.50`, `-\tfrac{3}{4}`, `1\frac12`, `2 1/2`, `1.5\times 10^3`,
`1e-3`, `50\%`, `50 \text{ years}`, `x = 5`. Equality is exact: 0.333 is not 1/3.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from promptaudit.udfs.scoring.math.vocabulary import is_name, unit_words

MAX_CHARACTERS = 1_000
"""A longer text is no plain number: Python's conversion takes quadratic time."""

_DECIMAL = r"(?:[0-9]{1,3}(?:[ ,][0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_SIGNED = rf"[-+]?\s*{_DECIMAL}"
_NUMBER = re.compile(
    rf"(?:(?P<name>[A-Za-z])\s*=\s*)?(?P<sign>[-+]?)\s*"
    rf"(?:(?:(?P<whole>[0-9]+)\s*)?\\[dtc]?frac\s*(?:\{{\s*(?P<upper>{_SIGNED})\s*\}}|(?P<upper1>[0-9]))"
    rf"\s*(?:\{{\s*(?P<lower>{_SIGNED})\s*\}}|(?P<lower1>[0-9]))"
    rf"|(?:(?P<whole2>[0-9]+)\s+)?(?P<upper2>{_DECIMAL})\s*/\s*(?P<lower2>{_DECIMAL})"
    rf"|(?P<mantissa>{_DECIMAL})\s*(?:\\times|\\cdot|\*|x)\s*10\s*\^\s*(?:(?P<power>[-+]?[0-9]{{1,3}})|\{{(?P<power2>[-+]?[0-9]{{1,3}})\}})"
    rf"|(?P<decimal>{_DECIMAL})(?:[eE](?P<exponent>[-+]?[0-9]{{1,3}})(?![0-9]))?"
    r")"
)
_PERCENT = re.compile(r"\s*(?:\\?%|per ?cent\b)")
_WRITTEN = re.compile(r"\\(?:text(?:rm|bf)?|mathrm|mbox)\s*\{([^{}]*)\}")
_UNIT = re.compile(r"[A-Za-z]+\.?(?:\^[23])?(?:(?:/| |-| per )[A-Za-z]+\.?(?:\^[23])?){0,7}")
_ABBREVIATIONS = frozenset(("cm", "mm", "km", "kg", "mg", "ml", "ft", "in", "yd", "mi", "oz", "lb", "hr", "pm", "am"))


class Quantity(NamedTuple):
    """A plain number as it is written, before it is divided by 100 for its percent sign."""

    value: Fraction
    is_percent: bool
    unit: tuple[str, ...]
    name: str

    def equals(self, reference: Quantity) -> bool:
        """Decides whether this answer is the reference's number.

        A unit that the reference lacks is ignored; a unit that it has must begin the answer's unit: `50 years` is a
        right answer to `50`, `50` is none to `50 years`, and units are not converted. A percent sign is a hundredth, so
        that 50% is 1/2; and it is also a unit, so that 50% answers `50`, as datasets leave the sign to the question.
        `x = 5` answers 5, and 5 answers `x = 5`, but `y = 5` does not.
        """
        if self.name and reference.name and self.name != reference.name:
            return False
        if reference.unit != self.unit[: len(reference.unit)]:
            return False
        is_equal = self.worth == reference.worth
        return is_equal or (self.is_percent and not reference.is_percent and self.value == reference.value)

    @property
    def worth(self) -> Fraction:
        """Divides the number by 100 where it has a percent sign."""
        return self.value / 100 if self.is_percent else self.value


def read_quantity(text: str) -> Quantity | None:
    """Reads the plain number that a whole text (tidied by `final_answer.tidied`) is; None for anything else."""
    if len(text) > MAX_CHARACTERS:
        return None
    match = _NUMBER.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    percent = _PERCENT.match(rest)
    unit = _unit(rest[percent.end() :] if percent else rest)
    if unit is None:
        return None
    value = _value(match)
    return None if value is None else Quantity(value, percent is not None, unit, match["name"] or "")


def _value(match: re.Match[str]) -> Fraction | None:
    part = match.groupdict()
    upper = part["upper"] or part["upper1"] or part["upper2"]
    if upper is None:
        value = _exact(part["mantissa"] or part["decimal"])
        power = part["power"] or part["power2"] or part["exponent"]
        if power:
            value *= Fraction(10) ** int(power)
    else:
        lower = _exact(part["lower"] or part["lower1"] or part["lower2"])
        if lower == 0:
            return None
        value = _exact(upper) / lower
        whole = part["whole"] or part["whole2"]
        if whole:  # 2 1/2, but neither 2 3/2 nor 2 -1/2
            if not 0 < value < 1:
                return None
            value += int(whole)
    return -value if part["sign"] == "-" else value


def _exact(decimal: str) -> Fraction:
    whole, _, digits = decimal.replace(",", "").replace(" ", "").partition(".")
    return Fraction(int(whole + digits), 10 ** len(digits)) if digits else Fraction(int(whole))


def _unit(rest: str) -> tuple[str, ...] | None:
    # None where something other than a unit stands behind the number
    bare = rest.strip()
    if not bare:
        return ()
    written = _WRITTEN.sub(r" \1 ", bare)
    is_marked = written != bare
    words = " ".join(written.replace("^{2}", "^2").replace("^{3}", "^3").replace(" ^", "^").split()).rstrip(".")
    if not _UNIT.fullmatch(words):
        return None
    first = re.split(r"[ ./^-]", words, maxsplit=1)[0]
    if first.lower() in ("and", "or"):
        return None
    # "2 xy" and "2ab" are products: without \text{}, a unit has three letters and a space, or is well known
    is_word = len(first) > 2 and rest[0] == " " and not is_name(first)
    return unit_words(words.replace("^", "")) if is_marked or is_word or first.lower() in _ABBREVIATIONS else None
