"""A night that ran under a clock that was 30 days ahead, and what the right clock makes of it: real runs, builds and gates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from promptaudit.system import clock
from tests.support.http_audit import AUDIT, write_cards
from tests.support.provider_server import running_provider
from tests.support.shell import Ended, promptaudit, sql

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KEY = "sk-test-0123456789abcdef0123456789abcdef"
ORDER = "select * from marts.dim_nights order by run_index"


class _Ahead(datetime):
    days = 0.0

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(days=cls.days)  # type: ignore[arg-type]


def ahead_by(days: float, folder: Path, *arguments: str) -> Ended:
    """Runs a command on a machine whose clock is ahead by so many days."""
    with mock.patch.object(clock, "datetime", type("Ahead", (_Ahead,), {"days": days})):
        return promptaudit(folder, *arguments, AUDIT_KEY=KEY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("clock")
    with running_provider() as provider:
        gate = '  gate: ["micro_f1 >= 0"]\n  max_age: 36h\n  resamples: 20\n'
        write_cards(folder / "registry", provider.base_url, audit=gate, n_samples=8, variants=1)
        assert ahead_by(30, folder, "nightly", AUDIT).code == 0
        yield folder


def test_a_night_from_the_future_is_never_fresh_and_hides_no_later_one(folder: Path) -> None:
    (future,) = sql(folder, ORDER)
    says = r"20\d\d-\d\d-\d\d \d\d:\d\d UTC, 29 days ahead of this machine's clock \(20\d\d-\d\d-\d\d \d\d:\d\d\)"

    checked = promptaudit(folder, "check", AUDIT)
    assert checked.code == 3, checked
    assert len(re.findall(f"the run started {says}", checked.out + checked.err)) >= 1, checked

    asked_again = promptaudit(folder, "run", AUDIT, AUDIT_KEY=KEY)
    assert asked_again.code == 0
    assert re.search(f"was recorded under a clock that was ahead: it started {says}: nothing asked", asked_again.out)

    tonight = promptaudit(folder, "nightly", AUDIT, AUDIT_KEY=KEY)
    assert tonight.code == 0, tonight
    assert "nothing asked" not in tonight.out
    assert promptaudit(folder, "check", AUDIT).code == 0

    nights = sql(folder, ORDER)
    assert [(row["run_index"], row["night_number"], row["is_newest"]) for row in nights] == [
        (1, 1, False),
        (2, 2, True),
    ]
    assert nights[1]["previous_run_id"] == nights[0]["audit_run_id"] == future["audit_run_id"]
    assert nights[1]["started_at"] < nights[0]["started_at"]
    places = sql(folder, "select audit_run_id, night from marts.rpt_night_states order by night")
    assert [row["audit_run_id"] for row in places] == [row["audit_run_id"] for row in nights]
