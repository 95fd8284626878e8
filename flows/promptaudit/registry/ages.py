"""Reads spans of time as cards write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

_AGE = re.compile(r"([0-9]{1,5})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age_of(text: str) -> timedelta:
    """Parses a span of time such as `36h`, `2d`, `90m` or `1w`; raises ValueError for any other text and for 0."""
    age = _AGE.fullmatch(text.strip())
    if age is None or int(age[1]) == 0:
        msg = "an age is a whole number with m, h, d or w, such as 36h or 2d"
        raise ValueError(msg)
    return timedelta(**{_UNITS[age[2]]: int(age[1])})


def sound_age(text: str) -> str:
    """Accepts a text that is a span of time and gives it back unchanged; raises ValueError for any other."""
    age_of(text)
    return text


Age = Annotated[
    str, AfterValidator(sound_age), WithJsonSchema({"type": "string", "pattern": r"^\s*0*[1-9][0-9]{0,4}\s*[mhdw]\s*$"})
]
"""A span of time in a card."""
