"""Computes scales of the drawings as Vega does: positions of values, round ticks and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_PREFIXES = {-3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T"}
# widths of ASCII characters from the space on, in thousandths of the font size, in the fonts of a page
_IN_TEXT = """
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278
278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722
667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556
556 333 500 278 556 500 722 500 500 500 334 260 334 584
"""
_WIDTHS = tuple(map(int, _IN_TEXT.split()))
FONT_SIZE = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Numbers on a line of pixels. With `is_clamped`, numbers outside lie at its ends."""

    low: float
    high: float
    start: float
    end: float
    is_clamped: bool = False

    def __call__(self, value: float) -> float:
        """Computes where a value lies, in pixels."""
        share = (value - self.low) / (self.high - self.low) if self.high != self.low else 0.5
        return self.start + (self.end - self.start) * (min(1.0, max(0.0, share)) if self.is_clamped else share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """One band of pixels per name. The room between and around the bands is given in parts of a step."""

    names: Sequence[Any]
    start: float
    end: float
    between: float = 0.0
    around: float = 0.0

    @property
    def step(self) -> float:
        """The pixels from the start of one band to the start of the next."""
        return (self.end - self.start) / max(1.0, len(self.names) - self.between + 2 * self.around)

    @property
    def width(self) -> float:
        """The width of one band in pixels."""
        return self.step * (1 - self.between)

    def __call__(self, name: object) -> float:
        """Computes the middle of a name's band."""
        return self.start + self.step * (self.around + self.names.index(name)) + self.width / 2


Scale = Linear | Bands


def step_of(low: float, high: float, n: float) -> float:
    """Finds the round step (1, 2, 5 or 10 times a power of ten) that divides a range into about n parts."""
    wanted = (high - low) / max(1.0, n)
    if wanted <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(wanted))
    error = wanted / power
    return power * (
        10 if error >= math.sqrt(50) else 5 if error >= math.sqrt(10) else 2 if error >= math.sqrt(2) else 1
    )


def niced(low: float, high: float) -> tuple[float, float]:
    """Extends a range to round numbers."""
    for _ in range(2):
        step = step_of(low, high, 10)
        if step:
            low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return low, high


def ticks(low: float, high: float, n: int, least_step: float | None = None) -> tuple[list[float], float]:
    """Finds about n round values in a range, and their step."""
    if least_step is not None:
        n = max(1, min(n, math.floor((high - low) / least_step)))
    step = step_of(low, high, n)
    if not step:
        return [low], 1.0
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)], step


def written(value: float, form: str | None, step: float = 1.0, most: float = 1.0) -> str:
    """Writes a tick's label in one of the forms that charts use, by default with as many digits as the step has.

    most: the end of the axis. It decides the prefix (k, M, …) of all labels of the form `~s`.
    """
    if form == "d":
        text = f"{value:.0f}"
    elif form == "~s":
        power = 0 if most <= 0 else min(4, max(-3, math.floor(math.log10(most) / 3 + 1e-12)))
        text = _trimmed(f"{value / 1000.0**power:.6f}") + _PREFIXES[power]
    elif form == "~%":
        text = f"{_trimmed(f'{100 * value:.6f}')}%"
    elif form == ".3~f":
        text = _trimmed(f"{value:.3f}")
    elif form == ".0%":
        text = f"{value:.0%}"
    elif form == ".1f":
        text = f"{value:.1f}"
    else:
        text = f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def width_of(text: str) -> float:
    """Estimates how wide a text of a chart is, in pixels."""
    return FONT_SIZE / 1000 * sum(_WIDTHS[ord(char) - 32] if " " <= char <= "~" else 1000 for char in text)


def fitted(text: str, limit: float | None) -> str:
    """Cuts a text to a width in pixels, with an ellipsis if it is cut."""
    if limit is None or width_of(text) <= limit:
        return text
    while text and width_of(text) + FONT_SIZE > limit:
        text = text[:-1]
    return f"{text}…"
