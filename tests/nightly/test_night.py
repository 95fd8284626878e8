"""Which run is tonight's: by the time of its schedule, or, begun by a person, by how long ago that was."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from promptaudit.audit.runs import flow_runs_of
from promptaudit.nightly.tonight import longest, record_night, refuse_missed, tonights_run
from promptaudit.registry.cards import AuditCard
from promptaudit.registry.errors import NightMissed, UsageError
from promptaudit.system.clock import now
from promptaudit.warehouse import Warehouse
from tests.support.landed_nights import AUDIT, land_night

FIRST, SECOND = datetime(2026, 11, 2, 2), datetime(2026, 11, 3, 2)
PLAN = "f"


def card(**fields: Any) -> AuditCard:
    return AuditCard(tasks=("t",), models=("m",), **fields)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    place = tmp_path / "audit.duckdb"
    Warehouse(place).apply_schema()
    return place


def begun(warehouse: Path, scheduled_at: datetime | None) -> str:
    run = land_night(warehouse, 1)
    record_night(Warehouse(warehouse), AUDIT, run, "begun", scheduled_at=scheduled_at)
    record_night(Warehouse(warehouse), AUDIT, run, "finished")
    return run


def test_each_scheduled_start_is_a_night_of_its_own_however_close(warehouse: Path) -> None:
    run = begun(warehouse, FIRST)
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, FIRST) == run
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, FIRST + timedelta(minutes=1)) is None
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, "other prompts", FIRST) is None


def test_a_new_night_is_another_unless_the_flow_run_that_began_it_is_taken_again(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(warehouse, FIRST)
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.audit_runs set flow_run_id = 'of a night'")
    found = {}
    for flow_run in (None, "of a night", "another"):
        monkeypatch.setattr("promptaudit.audit.runs.flow_run_id", lambda flow_run=flow_run: flow_run)
        found[flow_run] = [
            tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, SECOND, new=new) for new in (True, False)
        ]
    later = land_night(warehouse, 2)
    assert later != run
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.audit_runs set flow_run_id = 'of a night' where audit_run_id = ?", [run])
    monkeypatch.setattr("promptaudit.audit.runs.flow_run_id", lambda: "of a night")
    with pytest.raises(UsageError, match=f"run {run}, which this flow run began, was followed by {later}"):
        tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, SECOND, new=True)
    assert found == {None: [None, None], "of a night": [run, run], "another": [None, None]}


def test_a_scheduled_start_does_not_take_the_night_that_a_person_began(warehouse: Path) -> None:
    run = begun(warehouse, None)
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, SECOND) is None
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, None) == run


def test_a_person_finds_the_night_of_the_schedule(warehouse: Path) -> None:
    run = begun(warehouse, FIRST)
    assert tonights_run(Warehouse(warehouse), card(schedule="0 2 * * *"), AUDIT, PLAN, None) == run


def test_a_scheduled_start_goes_on_with_what_is_unfinished(warehouse: Path) -> None:
    run = land_night(warehouse, 1, state="running", started_at=now())
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, SECOND) == run
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.audit_runs set started_at = started_at - interval 40 hour")
    assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, SECOND) is None


def test_a_scheduled_start_that_went_on_with_an_older_night_has_it_as_its_own(warehouse: Path) -> None:
    run = begun(warehouse, FIRST)
    record_night(Warehouse(warehouse), AUDIT, run, "resumed 1", scheduled_at=SECOND)
    for scheduled_at in (FIRST, SECOND):
        assert tonights_run(Warehouse(warehouse), card(), AUDIT, PLAN, scheduled_at) == run


def test_a_night_may_last_until_the_next_one_is_due() -> None:
    assert longest(card(), FIRST) == timedelta(days=1)
    assert longest(card(schedule="0 * * * *"), FIRST) == timedelta(hours=1)
    assert longest(card(schedule="0 2 * * 0"), FIRST) == timedelta(days=1)
    assert longest(card(schedule="0 * * * *", max_duration="90m"), FIRST) == timedelta(minutes=90)
    assert longest(card(schedule="0 * * * *"), None) == timedelta(hours=1)
    twice = card(schedule="0 2,3 * * *")
    assert [longest(twice, FIRST), longest(twice, FIRST + timedelta(hours=1))] == [
        timedelta(hours=1),
        timedelta(hours=23),
    ]


def test_a_start_is_too_late_once_the_next_one_is_due() -> None:
    daily, late = card(schedule="0 2 * * *"), now() - timedelta(days=2)
    with pytest.raises(NightMissed, match=rf"the night of {late:%Y-%m-%d %H:%M} UTC: a later one is due already"):
        refuse_missed(daily, late)
    for each, scheduled_at in ((daily, now()), (daily, None), (card(), late)):
        refuse_missed(each, scheduled_at)


def test_flow_runs_that_opened_or_went_on_with_a_run_are_known(warehouse: Path) -> None:
    run = begun(warehouse, FIRST)
    with Warehouse(warehouse).write() as con:
        con.execute("update raw.audit_runs set flow_run_id = 'opened'")
    record_night(Warehouse(warehouse), AUDIT, run, "resumed 1", {"flow_run_id": "went on"})
    assert flow_runs_of(Warehouse(warehouse)) == {"opened", "went on"}
