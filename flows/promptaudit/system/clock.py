"""The present time, ages, and times that a clock which was ahead has recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

TOLERANCE = timedelta(minutes=5)
"""How far the clocks of machines that share a warehouse may differ."""


def now() -> datetime:
    """Reads the present time in UTC, without a zone, as the warehouse keeps it."""
    return datetime.now(UTC).replace(tzinfo=None)


def age(of: datetime, at: datetime) -> timedelta:
    """Computes how old something is at a time: never negative, since nothing is younger than new."""
    return max(at - of, timedelta())


def is_ahead(of: datetime, at: datetime) -> bool:
    """Checks whether a time lies further ahead of `at` than two clocks may differ."""
    return of - at > TOLERANCE


def span(length: timedelta) -> str:
    """Formats how long something lasts, in minutes, hours or days."""
    minutes = int(length.total_seconds() // 60)
    if minutes < 2:  # noqa: PLR2004 - no plural to get wrong
        return "a minute"
    if minutes < 120:  # noqa: PLR2004 - two hours read better in minutes
        return f"{minutes} minutes"
    return f"{minutes // 60} hours" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def ahead(of: datetime, at: datetime) -> str:
    """Formats a time that lies ahead of this machine's clock, with what the clock says."""
    return f"{of:%Y-%m-%d %H:%M} UTC, {span(of - at)} ahead of this machine's clock ({at:%Y-%m-%d %H:%M})"
