"""What askers hand over lands once, however often a step is cut short, and what a dead one had of the budget is known."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from promptaudit.ask.shards import land_segments
from promptaudit.ask.shards.land_segments import SegmentLanding, askers_folder, land_left, lost_in
from promptaudit.ask.shards.messages import ASKER, LEASE, AskerState, Lease, Lost, Message, read_message, write_message
from promptaudit.audit.runs import close_run
from promptaudit.engines import silent
from promptaudit.registry.errors import BrokenFile, WarehouseError
from promptaudit.system.keys import prediction_id
from promptaudit.system.processes import began_at, machine
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.segments import Segments
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
    landing = SegmentLanding(landed, folder, run, silent)
    landing.hear()
    (asker,) = landing.askers.values()
    landing.land([asker])
    assert cells(landed.path) == (60, 60)
    # the lander was killed before it removed the file
    folder.write("1/a/00000001.predictions.jsonl", content)
    again = SegmentLanding(landed, folder, run, silent)
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
        landing = SegmentLanding(landed, folder, run, silent)
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
    landing = SegmentLanding(landed, folder, run, silent)
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
    landing = SegmentLanding(landed, folder, run, silent)
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


# ---------------------------------------------------------------- what somebody else puts there
def changed(content: bytes, **fields: object) -> bytes:
    """The first row of a segment with other fields, its id that of its cell unless it is among them."""
    row = json.loads(content.splitlines()[0]) | fields
    cell = (row["audit_run_id"], row["model_id"], row["prompt_variant_id"], row["sample_id"], row["repetition"])
    return json.dumps({"prediction_id": prediction_id(*cell, row["request_sha256"])} | row | fields).encode() + b"\n"


def with_id(content: bytes, **fields: object) -> bytes:
    """The same with the id of that cell."""
    row = json.loads(changed(content, **fields))
    del row["prediction_id"]
    return changed(json.dumps(row).encode())


def test_what_is_not_of_the_run_is_set_aside_and_told_and_the_rest_lands(landed: Warehouse, tmp_path: Path) -> None:
    run, content = hand_over(landed)
    folder, root = askers_folder(landed, None).under(run), landed.places.askers / run
    write_message(folder, f"1/a/{ASKER}", GONE.model_copy(update={"state": "ended"}))
    write_message(folder, f"1/a/{LEASE}", Lease(max_requests=200))
    begun = json.loads(content.splitlines()[0])["landed_at"]
    attempt = {"audit_run_id": run, "prediction_id": "0" * 32, "attempted_at": begun, "error": "x", "waited_ms": 0}
    model_id = json.loads(content.splitlines()[0])["model_id"]
    served = {"audit_run_id": run, "model_id": model_id, "opened_at": begun, "engine": "openai_api", "endpoint": "h"}
    invented = [attempt | {"prediction_id": f"{n:032x}"} for n in range(200)]
    planted = {
        "2.predictions.jsonl": (changed(content, audit_run_id="f" * 32) + content, "line 1: a row of another run"),
        "3.predictions.jsonl": (content + changed(content, audit_run_id="f" * 32), "line 61: a row of another run"),
        "4.predictions.jsonl": (with_id(content, sample_id="s999"), "line 1: a cell that run"),
        "5.predictions.jsonl": (with_id(content, model_id="other"), "line 1: a cell that run"),
        "6.predictions.jsonl": (with_id(content, repetition=9), "line 1: a cell that run"),
        "7.predictions.jsonl": (
            changed(content, prediction_id="0" * 32),
            "line 1: a prediction_id that is not of its cell",
        ),
        "8.predictions.jsonl": (content + with_id(content, request_sha256="0" * 64), "whose cell has another answer"),
        "9.predictions.jsonl": (changed(content, landed_at=None), "line 1: no landed_at"),
        "10.predictions.jsonl": (content + b"\x00 no row\n", "line 61: no row that can be landed"),
        "11.predictions.jsonl": (b"[]\n", "line 1: no row that can be landed"),
        "12.audit_runs.jsonl": (
            json.dumps({"audit_run_id": run}).encode() + b"\n",
            "no process hands over rows of 'audit_runs'",
        ),
        "13.verdicts.jsonl": (b"{}\n", "no process hands over rows of 'verdicts'"),
        "14.nothing.jsonl": (b"{}\n", "no file of a spool"),
        "x.jsonl": (b"{}\n", "no file of a spool"),
        "15.attempts.jsonl": (
            json.dumps(attempt | {"audit_run_id": None}).encode() + b"\n",
            "line 1: a row of another run",
        ),
        "20.predictions.jsonl": (
            content + changed(content, cost_usd=-1e300),
            "line 61: a cost_usd that is negative or infinite",
        ),
        "21.predictions.jsonl": (changed(content, latency_ms=-0.5), "line 1: a latency_ms that is negative"),
        "22.predictions.jsonl": (
            changed(content, completion_tokens=-7),
            "line 1: a completion_tokens that is negative",
        ),
        "23.predictions.jsonl": (changed(content, n_attempts=-1), "line 1: a n_attempts that is negative"),
        "24.predictions.jsonl": (
            changed(content, landed_at=2**63 - 1),
            "line 1: a landed_at before the run began, or still",
        ),
        "25.predictions.jsonl": (changed(content, landed_at=1), "line 1: a landed_at before the run began, or still"),
        "26.attempts.jsonl": (
            json.dumps(attempt | {"waited_ms": -1.0}).encode() + b"\n",
            "line 1: a waited_ms that is negative",
        ),
        "28.engines.jsonl": (json.dumps(served | {"model_id": "other"}).encode() + b"\n", "line 1: a model that run"),
        "27.attempts.jsonl": (
            "".join(json.dumps(row) + "\n" for row in invented).encode(),
            "200 failed tries, and 139 requests are left of",
        ),
    }
    for name, (bad, _) in planted.items():
        folder.write(f"1/a/{name}", bad)
    folder.write("1/a/16.attempts.jsonl", json.dumps(attempt).encode() + b"\n")
    folder.write("1/a/29.engines.jsonl", json.dumps(served).encode() + b"\n")
    os.mkfifo(root / "1/a/17.predictions.jsonl")
    (tmp_path / "elsewhere.jsonl").write_bytes(content)
    (root / "1/a/18.predictions.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    with (root / "1/a/19.predictions.jsonl").open("wb") as sparse:
        sparse.truncate(2**40)
    said: list[str] = []
    land_left(landed, None, said.append)
    assert cells(landed.path) == (60, 60)
    assert query(landed.path, "select count(*) from raw.attempts") == [(1,)]
    assert query(landed.path, "select count(*) from raw.engines where endpoint = 'h'") == [(1,)]
    assert query(landed.path, "select count(*) from raw.audit_runs") == [(1,)]
    aside = Path(f"{landed.places.askers}.aside") / run / "1/a"
    odd = dict.fromkeys(("17.predictions.jsonl", "18.predictions.jsonl", "19.predictions.jsonl"), "no regular file")
    for name, why in ({name: why for name, (_, why) in planted.items()} | odd).items():
        (line,) = (line for line in said if line.startswith(f"set aside, not landed: {aside / name}: "))
        assert why in line
    assert len(said) == len(planted) + len(odd) + 1
    assert {name: (aside / name).read_bytes() for name in planted} == {name: bad for name, (bad, _) in planted.items()}
    assert not landed.places.askers.exists()
    land_left(landed, None, said.append)  # no later start hears of them again
    assert len(said) == len(planted) + len(odd) + 1


@pytest.mark.parametrize("name", [b"1/a\xff/1.predictions.jsonl", b"1/a/\xff.jsonl", b"1\xff/a/1.predictions.jsonl"])
def test_a_name_that_is_no_text_stops_nobody(landed: Warehouse, name: bytes) -> None:
    run, content = hand_over(landed)
    for place in (landed.places.askers, landed.places.spool):
        for file in (place / run / os.fsdecode(name), place / os.fsdecode(b"r\xff") / os.fsdecode(name)):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    write_message(askers_folder(landed, None).under(run), f"1/a/{ASKER}", GONE)
    land_left(landed, None, silent)
    assert cells(landed.path) == (60, 60)


def test_few_large_files_are_read_beside_each_other(landed: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    run, content = hand_over(landed)
    folder = askers_folder(landed, None).under(run)
    names = [f"1/a/{n}.predictions.jsonl" for n in range(20)]
    for name in names:
        folder.write(name, content)
    segments = Segments(landed, folder, run, silent)
    assert segments.first_of(names) == names[:16]
    for n_bytes, n_files in ((3 * len(content), 3), (1, 1)):
        monkeypatch.setattr("promptaudit.warehouse.segments.BYTES_AT_ONCE", n_bytes)
        assert segments.first_of(names) == names[:n_files]


def test_nothing_new_enters_a_run_that_is_complete(landed: Warehouse) -> None:
    run, content = hand_over(landed)
    land_left(landed, None, silent)
    folder, said = askers_folder(landed, None).under(run), list[str]()
    gone, *kept = content.splitlines(keepends=True)
    query(landed.path, f"delete from raw.predictions where prediction_id = '{json.loads(gone)['prediction_id']}'")
    close_run(landed, run, "complete")
    folder.write("1/a/1.predictions.jsonl", content)
    folder.write("1/a/2.predictions.jsonl", b"".join(kept))  # of an asker that was held dead: nothing of it is new
    land_left(landed, None, said.append)
    assert cells(landed.path) == (59, 59)
    assert len(said) == 2
    assert said[1].startswith(
        f"set aside, not landed: {landed.places.askers}.aside/{run}/1/a/1.predictions.jsonl: has rows that run"
    )


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (Lost, {"n_requests": -1_000_000_000}),
        (Lost, {"usd": -1e9}),
        (Lost, {"usd": math.inf}),
        (Lease, {"max_usd": math.nan}),
        (Lease, {"usd_landed": -math.inf}),
        (Lease, {"n_landed": -5}),
        (Lease, {"parts": {"m": 9.0}}),
        *((AskerState, GONE.model_dump() | {name: -1}) for name in ("pid", "beat", "n_requests", "usd", "wants_usd")),
        (AskerState, GONE.model_dump() | {"pid": 2**70}),
        (AskerState, GONE.model_dump() | {"began_at": math.nan}),
    ],
)
def test_a_message_with_numbers_that_nobody_has_is_none(
    tmp_path: Path, kind: type[Message], content: dict[str, object]
) -> None:
    folder = askers_folder(Warehouse(tmp_path / "audit.duckdb"), None)
    folder.write("x.json", json.dumps(content).encode())
    with pytest.raises(BrokenFile, match=r"x\.json: no message of a run's askers"):
        read_message(folder, "x.json", kind)


@pytest.mark.parametrize("name", [f"1/a/{ASKER}", f"1/a/{LEASE}", "lander.json", "lost.json"])
@pytest.mark.parametrize("plant", [lambda path: path.write_bytes(b""), lambda path: path.write_text("{"), os.mkfifo])
def test_a_broken_message_stops_no_later_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, plant: Callable[[Path], object]
) -> None:
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    run = "0" * 32
    monkeypatch.setattr(land_segments, "replay", lambda *_: 0)
    folder = askers_folder(warehouse, None).under(run)
    write_message(folder, f"1/a/{ASKER}", GONE)
    path = warehouse.places.askers / run / name
    path.unlink(missing_ok=True)
    plant(path)
    said: list[str] = []
    land_segments._land_askers(warehouse, folder, run, said.append)
    (line,) = (line for line in said if line.startswith("set aside, not landed: "))
    assert name in line
    assert folder.names() == []


def test_one_that_lives_and_is_silent_is_not_waited_for(landed: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = hand_over(landed)
    forged = AskerState(machine=machine(), pid=os.getpid(), began_at=began_at(), beat=1)
    write_message(askers_folder(landed, None).under(run), f"1/a/{ASKER}", forged)
    now = iter(range(0, 10_000, 40))
    monkeypatch.setattr(land_segments.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(land_segments.time, "sleep", lambda _: None)
    land_left(landed, None, silent)
    assert cells(landed.path) == (60, 60)
