"""What askers hand over lands once, however often a step is cut short, and what a dead one had of the budget is known."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from flows.audit.shards import land_segments
from flows.audit.shards.land_segments import SegmentLanding, askers_folder, land_left, lost_in
from flows.audit.shards.messages import ASKER, LEASE, AskerState, Lease, read_message, write_message
from flows.engines import silent
from flows.system.processes import began_at, machine
from flows.warehouse import Warehouse
from models_registry.errors import WarehouseError
from tests.support.http_audit import ask, cells, query, write_cards
from tests.support.openai_server import running_server

GONE = AskerState(machine=machine(), pid=2**22 + 1, began_at=1.0, beat=1)


@pytest.fixture
def landed(tmp_path: Path) -> Warehouse:
    """A warehouse with 60 answers of one run."""
    with running_server() as server:
        write_cards(tmp_path / "cards", server.base_url)
        ask(tmp_path / "audit.duckdb", tmp_path / "cards")
    return Warehouse(tmp_path / "audit.duckdb")


def hand_over(warehouse: Warehouse, name: str = "1/a/00000001.predictions.jsonl") -> tuple[str, bytes]:
    """The rows of a run as an asker hands them over, the warehouse without them; returns the run and the file."""
    import polars as pl

    with warehouse.kept_open():
        rows = pl.DataFrame(warehouse.read("select * from raw.predictions"), infer_schema_length=None)
        (run,) = rows["audit_run_id"].unique().to_list()
        times = [pl.col(column).dt.epoch("us") for column, kind in rows.schema.items() if kind.is_temporal()]
        content = rows.with_columns(times).write_ndjson().encode()
    query(warehouse.path, "delete from raw.predictions")
    askers_folder(warehouse, None).under(run).write(name, content)
    return run, content


def test_a_file_that_comes_twice_lands_once_and_is_counted_once(landed: Warehouse) -> None:
    run, content = hand_over(landed)
    folder = askers_folder(landed, None).under(run)
    write_message(folder, f"1/a/{ASKER}", GONE)
    write_message(folder, f"1/a/{LEASE}", Lease(max_requests=100, max_usd=1.0))
    landing = SegmentLanding(landed, folder)
    landing.hear()
    (asker,) = landing.askers.values()
    landing.land([asker])
    assert cells(landed.path) == (60, 60)
    # the lander was killed before it removed the file
    folder.write("1/a/00000001.predictions.jsonl", content)
    again = SegmentLanding(landed, folder)
    again.hear()
    (asker,) = again.askers.values()
    again.land([asker])
    assert cells(landed.path) == (60, 60)
    lease = read_message(folder, f"1/a/{LEASE}", Lease)
    assert lease is not None
    assert lease.n_landed == 60
    spent = query(landed.path, "select sum(cost_usd) from raw.predictions")[0][0]
    assert lease.usd_landed == pytest.approx(spent)
    again.settle(asker)
    lost = lost_in(folder)
    assert lost.n_requests == 40
    assert lost.usd == pytest.approx(1.0 - spent)
    assert folder.names() == ["lost.json"]
    again.settle(asker)
    assert lost_in(folder).n_requests == 40


def test_what_dead_askers_left_open_lands_at_the_next_start(landed: Warehouse) -> None:
    run, content = hand_over(landed, "2/b/open/00000003.predictions.jsonl")
    folder = askers_folder(landed, None).under(run)
    folder.write("2/b/open/00000003.predictions.jsonl", content[:-20])  # a line that was being written
    write_message(folder, f"2/b/{ASKER}", GONE)
    said: list[str] = []
    land_left(landed, None, said.append)
    assert cells(landed.path) == (59, 59)
    assert said == ["landing what 1 askers of an earlier start have handed over"]
    assert not landed.places.askers.exists()


def test_a_spool_that_two_warehouses_share_keeps_their_runs_apart(landed: Warehouse, tmp_path: Path) -> None:
    run, content = hand_over(landed)
    spool = str(tmp_path / "spool")
    folder = askers_folder(landed, spool).under(run)
    folder.write("1/a/00000001.predictions.jsonl", content)
    write_message(folder, f"1/a/{ASKER}", GONE)
    names = folder.names()
    with running_server() as server:
        write_cards(tmp_path / "other", server.base_url)
        ask(tmp_path / "other.duckdb", tmp_path / "other")
    other = Warehouse(tmp_path / "other.duckdb")
    query(other.path, "delete from raw.predictions")
    query(other.path, "update raw.audit_runs set audit_run_id = 'another'")
    land_left(other, spool, silent)
    assert folder.names() == names
    assert cells(other.path) == (0, 0)
    land_left(landed, spool, silent)
    assert cells(landed.path) == (60, 60)


def test_what_a_dead_asker_was_lent_is_lost_once(landed: Warehouse) -> None:
    run, _ = hand_over(landed)
    folder = askers_folder(landed, None).under(run)
    for _ in range(2):  # the second start finds the lease still there: the first was killed before it removed it
        write_message(folder, f"1/a/{ASKER}", GONE)
        write_message(folder, f"1/a/{LEASE}", Lease(max_requests=100, max_usd=1.0))
        landing = SegmentLanding(landed, folder)
        landing.hear()
        (asker,) = landing.askers.values()
        landing.settle(asker)
        assert lost_in(folder).n_requests == 40
        assert lost_in(folder).askers == ["a"]


def test_what_an_asker_hands_over_after_it_was_held_dead_lands_at_the_next_start(landed: Warehouse) -> None:
    run, content = hand_over(landed)
    folder = askers_folder(landed, None).under(run)
    folder.remove("1/a/00000001.predictions.jsonl")
    write_message(folder, f"1/a/{ASKER}", GONE)
    landing = SegmentLanding(landed, folder)
    landing.hear()
    (asker,) = landing.askers.values()
    folder.write("1/a/00000002.predictions.jsonl", content)  # behind the last look for segments
    landing.land = lambda *_, **__: None  # type: ignore[method-assign]
    landing.settle(asker)
    assert folder.names() == ["1/a/00000002.predictions.jsonl"]
    land_left(landed, None, silent)
    assert cells(landed.path) == (60, 60)


def test_segments_are_read_beside_each_other(landed: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    run, content = hand_over(landed)
    folder = askers_folder(landed, None).under(run)
    folder.write("1/a/00000002.predictions.jsonl", content)
    write_message(folder, f"1/a/{ASKER}", GONE)
    landing = SegmentLanding(landed, folder)
    landing.hear()
    both, read = threading.Barrier(2), folder.read

    def slowly(name: str) -> bytes | None:
        if name.endswith(".jsonl"):
            both.wait(10)  # for another that is read meanwhile
        return read(name)

    monkeypatch.setattr(folder, "read", slowly)
    landing.land(landing.askers.values())
    assert cells(landed.path) == (60, 60)


def test_an_asker_that_lives_is_told_to_end_and_waited_for(landed: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = hand_over(landed)
    folder = askers_folder(landed, None).under(run)
    alive = AskerState(machine="another machine", pid=1, began_at=1.0, beat=1)
    write_message(folder, f"1/a/{ASKER}", alive)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        assert folder.read("lander.json") is not None
        if len(waits) == 3:
            write_message(folder, f"1/a/{ASKER}", alive.model_copy(update={"state": "ended", "beat": 2}))

    monkeypatch.setattr(land_segments.time, "sleep", wait)
    land_left(landed, None, silent)
    assert len(waits) == 3
    assert cells(landed.path) == (60, 60)


def test_who_is_silent_for_a_minute_is_held_to_be_dead_where_its_process_cannot_be_seen() -> None:
    there = {"machine": machine(), "pid": os.getpid(), "began_at": began_at(), "beat": 1}
    asker = land_segments.Asker(1, "a", state=AskerState(**there))  # type: ignore[arg-type]
    far = land_segments.Asker(1, "b", state=AskerState(machine="another", pid=1, began_at=1.0, beat=1))
    assert not asker.is_dead
    assert not far.is_dead
    asker.silent_s = far.silent_s = 61.0
    assert not asker.is_dead  # it may be busy: its process is there
    assert far.is_dead
    asker.state = GONE
    assert asker.is_dead


def test_a_file_that_is_no_message_is_named(tmp_path: Path) -> None:
    folder = askers_folder(Warehouse(tmp_path / "audit.duckdb"), None)
    folder.write("1/a/lease.json", b'{"max_requests": "many"}')
    with pytest.raises(WarehouseError, match=r"1/a/lease\.json: no message of a run's askers: max_requests"):
        read_message(folder, "1/a/lease.json", Lease)
