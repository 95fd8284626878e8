"""What `--json` prints of a result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from promptaudit.system.display.encode import NOT_ENCODED, encoded, encoded_property


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    parts: tuple[Part, ...]
    path: Path
    ended_at: datetime
    cost: Decimal
    by_day: Mapping[int, frozenset[str]]
    for_people: str = field(default="", metadata=NOT_ENCODED)

    @encoded_property
    def n_parts(self) -> int:
        return len(self.parts)

    @property
    def own(self) -> str:
        return "not printed"


def test_a_result_is_its_fields_and_its_encoded_properties() -> None:
    result = Result(
        parts=(Part(name="a", share=0.5), Part(name="b")),
        path=Path("a") / "b",
        ended_at=datetime(2026, 11, 23, 4, 5, tzinfo=UTC),
        cost=Decimal("0.10"),
        by_day={1: frozenset({"x"})},
    )
    assert json.loads(json.dumps(encoded(result))) == {
        "parts": [{"name": "a", "share": 0.5}, {"name": "b", "share": None}],
        "path": str(Path("a") / "b"),
        "ended_at": "2026-11-23T04:05:00+00:00",
        "cost": 0.1,
        "by_day": {"1": ["x"]},
        "n_parts": 2,
    }


def test_plain_values_stay_as_they_are() -> None:
    plain = {"a": [1, 2.5, "b", None, True]}
    assert encoded(plain) == plain
