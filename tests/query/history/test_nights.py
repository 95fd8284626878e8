from __future__ import annotations

from datetime import datetime, timedelta

from promptaudit.query.history.nights import night_names


def test_nights_are_named_in_as_few_parts_as_tell_them_apart() -> None:
    first = datetime(2026, 12, 31, 2, 0, 4)
    assert night_names([first, first + timedelta(days=1)]) == ["12-31", "01-01"]
    assert night_names([first, first + timedelta(hours=1)]) == ["12-31 02:00", "12-31 03:00"]
    assert night_names([first, first + timedelta(seconds=1)]) == ["12-31 02:00:04", "12-31 02:00:05"]
    assert night_names([first, first.replace(year=2027)]) == ["2026-12-31 02:00:04", "2027-12-31 02:00:04"]
    assert night_names([first, first]) == ["2026-12-31 02:00:04 (1)", "2026-12-31 02:00:04 (2)"]
