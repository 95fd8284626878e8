"""Older nights' raw rows move to the archive whole or not at all, and come back as they were; their marts never change."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import signal
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptaudit.ask.wordings.variants import earlier_proposals
from promptaudit.audit.rebuild import rebuild_runs
from promptaudit.audit.runs import close_run
from promptaudit.evidence.retain import restore, retain, retired_runs
from promptaudit.evidence.verify.runs import verify
from promptaudit.exchange.recorded_runs.import_run import ImportOptions, import_predictions
from promptaudit.marts.publish import publish
from promptaudit.registry.cards import FormatLimits
from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.registry.registry import load_registry
from promptaudit.system.display.progress import Progress
from promptaudit.system.settings import Settings
from promptaudit.udfs.retired import HEAVY
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.selection import Selection
from tests.support.http_audit import query
from tests.support.imported_runs import Recorded, published
from tests.support.landed_nights import AUDIT, FIRST, land_night, ruling, run_id

ROOT = Path(__file__).parents[2]


def landed(warehouse: Path, audit_run_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every raw row of a run in the tables that are retired."""
    with duckdb.connect(str(warehouse)) as con:
        return {
            table: con.execute(
                f"select * from raw.{table} where audit_run_id = ? order by all", [audit_run_id]
            ).fetchall()
            for table in HEAVY
        }


def archived(warehouse: Path, audit_run_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """What the archive holds of a run, by the files alone."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table in HEAVY:
        path = Warehouse(warehouse).places.archive / table / f"audit_run_id={audit_run_id}" / "data.parquet"
        found[table] = (
            duckdb.read_parquet(str(path), hive_partitioning=False).order("all").fetchall() if path.exists() else []
        )
    return found


def nights_with_rows(warehouse: Path) -> list[int]:
    rows = query(warehouse, "select distinct audit_run_id from raw.predictions order by all")
    return [int(run, 16) for (run,) in rows]


EMPTY: dict[str, list[tuple[Any, ...]]] = {table: [] for table in HEAVY}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    return path


@pytest.fixture
def older(warehouse: Path) -> str:
    """The first of two nights."""
    older = land_night(warehouse, 0)
    land_night(warehouse, 1)
    return older


def test_all_but_the_newest_nights_move_to_the_archive(warehouse: Path) -> None:
    runs = [land_night(warehouse, night) for night in range(4)]
    before = landed(warehouse, runs[1])
    done = retain(Warehouse(warehouse), AUDIT, 2)
    assert [(item.audit_run_id, item.n_rows) for item in done] == [(runs[0], 6), (runs[1], 6)]  # 4 + 1 + 1
    assert nights_with_rows(warehouse) == [2, 3]
    assert landed(warehouse, runs[1]) == EMPTY
    assert archived(warehouse, runs[1]) == before
    assert [len(before[table]) for table in HEAVY] == [4, 0, 1, 1, 0, 0]
    noted = query(
        warehouse, "select table_name, path, n_rows from raw.retirements where audit_run_id = ? order by all", [runs[0]]
    )
    place = f"audit_run_id={runs[0]}/data.parquet"
    assert noted == [(t, f"archive/{t}/{place}", n) for t, n in (("attempts", 1), ("predictions", 4), ("verdicts", 1))]
    sizes = [path.stat().st_size for path in Warehouse(warehouse).places.archive.rglob(place)]
    assert done[0].n_bytes == sum(sizes)
    assert retired_runs(Warehouse(warehouse)) == set(runs[:2])
    assert retain(Warehouse(warehouse), AUDIT, 2) == []
    land_night(warehouse, 4)
    assert [item.audit_run_id for item in retain(Warehouse(warehouse), AUDIT, 2)] == [runs[2]]


def test_the_archive_is_its_owners_alone_and_has_no_drafts(warehouse: Path) -> None:
    land_night(warehouse, 0)
    land_night(warehouse, 1)
    old = os.umask(0)
    try:
        retain(Warehouse(warehouse), AUDIT, 1)
    finally:
        os.umask(old)
    found = [Warehouse(warehouse).places.archive, *Warehouse(warehouse).places.archive.rglob("*")]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in found}
    folders = ("archive", "predictions", "attempts", "verdicts", f"audit_run_id={run_id(0)}")
    assert modes == dict.fromkeys(folders, 0o700) | {"data.parquet": 0o600}


def test_wordings_of_a_retired_night_are_reused(warehouse: Path) -> None:
    land_night(warehouse, 0)
    land_night(warehouse, 1)
    query(warehouse, "update raw.prompt_variants set rephrasing_key = 'other' where audit_run_id = ?", [run_id(1)])
    retain(Warehouse(warehouse), AUDIT, 1)
    assert [each.instruction for each in earlier_proposals(Warehouse(warehouse), "k") or ()] == ["Of night 0"]


@pytest.mark.slow
def test_what_is_still_needed_stays(warehouse: Path) -> None:
    others = {0: {"state": "running"}, 1: {"state": "failed"}, 2: {"origin": "import"}, 3: {"audit_id": "another"}}
    for night in range(12):
        land_night(warehouse, night, **others.get(night, {}))
    pins = [(4, "release", 1), (5, "release", 2), (6, "main", 1)]
    for night, name, day in pins:
        row = {"audit_run_id": run_id(night), "audit_id": AUDIT, "name": name, "pinned_at": FIRST + timedelta(days=day)}
        Warehouse(warehouse).land([("baselines", frame_of("baselines", [row]))])
    events = [(10, "a", "raised", 7), (10, "b", "raised", 8), (11, "b", "recovered", 8), (11, "c", "raised", None)]
    for night, alarm, event, base in events:
        row = {
            "audit_run_id": run_id(night),
            "alarm_id": alarm,
            "audit_id": AUDIT,
            "event": event,
            "kind": "regressed",
            "base_run_id": None if base is None else run_id(base),
            "summary": "x",
            "recorded_at": FIRST + timedelta(days=night),
        }
        Warehouse(warehouse).land([("alarms", frame_of("alarms", [row]))])
    done = retain(Warehouse(warehouse), AUDIT, 2, keep=[run_id(9)])
    # of 4 to 11: 5 and 6 are pinned, alarm a is open on 7, 9 is asked for, 10 and 11 are the newest two
    assert [int(item.audit_run_id, 16) for item in done] == [4, 8]
    assert nights_with_rows(warehouse) == [0, 1, 2, 3, 5, 6, 7, 9, 10, 11]


def test_the_newest_night_always_stays(warehouse: Path) -> None:
    land_night(warehouse, 0)
    with pytest.raises(ValueError, match="raw_nights is 0"):
        retain(Warehouse(warehouse), AUDIT, 0)
    assert retain(Warehouse(warehouse), AUDIT, 1) == []
    assert nights_with_rows(warehouse) == [0]


NIGHTS = itertools.count()


@pytest.mark.slow
@given(texts=st.lists(st.none() | st.text(max_size=30), min_size=1, max_size=40))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_goes_to_the_archive_and_comes_back(warehouse: Path, texts: list[str | None]) -> None:
    older, _ = (land_night(warehouse, next(NIGHTS), len(texts), tuple(texts)) for _ in range(2))
    before = landed(warehouse, older)
    assert [row[7] for row in sorted(before["predictions"], key=lambda row: int(row[1][1:]))] == texts
    retain(Warehouse(warehouse), AUDIT, 1)
    assert landed(warehouse, older) == EMPTY
    assert restore(Warehouse(warehouse), older) == len(texts) + 2
    assert landed(warehouse, older) == before
    assert restore(Warehouse(warehouse), older) == 0
    assert older not in retired_runs(Warehouse(warehouse))


def test_a_restored_night_is_retired_again_with_what_joined(warehouse: Path, older: str) -> None:
    retain(Warehouse(warehouse), AUDIT, 1)
    restore(Warehouse(warehouse), older)
    added = ruling(audit_run_id=older, prediction_id="p1", verdict_id="v1", judge_id="person:bob")
    Warehouse(warehouse).land([("verdicts", frame_of("verdicts", [added]))])
    assert [item.n_rows for item in retain(Warehouse(warehouse), AUDIT, 1)] == [7]
    assert restore(Warehouse(warehouse), older) == 7
    assert [row[1] for row in landed(warehouse, older)["verdicts"]] == ["v0", "v1"]


def test_a_row_that_strays_into_a_retired_night_replaces_nothing_in_the_archive(warehouse: Path, older: str) -> None:
    before = landed(warehouse, older)
    retain(Warehouse(warehouse), AUDIT, 1)
    stray = {"audit_run_id": older, "prediction_id": "p9", "attempted_at": FIRST, "error": "late", "waited_ms": 0.0}
    Warehouse(warehouse).land([("attempts", frame_of("attempts", [stray]))])
    assert retain(Warehouse(warehouse), AUDIT, 1) == []
    assert archived(warehouse, older) == before
    assert retired_runs(Warehouse(warehouse)) == {older}


def test_an_archive_that_changed_or_is_gone_is_not_landed(warehouse: Path, older: str) -> None:
    with pytest.raises(UsageError, match="was never retired"):
        restore(Warehouse(warehouse), older)
    retain(Warehouse(warehouse), AUDIT, 1)
    path = Warehouse(warehouse).places.archive / "verdicts" / f"audit_run_id={older}" / "data.parquet"
    pl.read_parquet(path).with_columns(is_match=pl.lit(value=False)).write_parquet(path)
    with pytest.raises(WarehouseError, match=r"verdicts.*not the file that was written: its sha256 is"):
        restore(Warehouse(warehouse), older)
    path.unlink()
    with pytest.raises(WarehouseError, match=r"verdicts.*cannot be read: No such file"):
        restore(Warehouse(warehouse), older)
    assert landed(warehouse, older) == EMPTY


def test_nothing_is_dropped_where_the_archive_cannot_be_made(warehouse: Path, older: str) -> None:
    before = landed(warehouse, older)
    Warehouse(warehouse).places.archive.write_text("a file in its place")
    with pytest.raises(WarehouseError, match="archive: cannot be made: File exists"):
        retain(Warehouse(warehouse), AUDIT, 1)
    assert landed(warehouse, older) == before
    Warehouse(warehouse).places.archive.unlink()
    assert [item.audit_run_id for item in retain(Warehouse(warehouse), AUDIT, 1)] == [older]


def test_nothing_is_dropped_where_the_file_reads_back_otherwise(
    warehouse: Path, older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = landed(warehouse, older)

    def one_answer_otherwise(con: duckdb.DuckDBPyConnection, rows: Selection, draft: Path) -> None:
        frame = con.sql(f"from {rows.sql}", params=rows.values).pl()
        if rows.relation == "raw.predictions":
            frame = frame.with_columns(
                completion=pl.when(pl.col("prediction_id") == "p2").then(pl.lit("no")).otherwise("completion")
            )
        frame.write_parquet(draft)

    with monkeypatch.context() as patch:
        patch.setattr("promptaudit.warehouse.archive.write_parquet", one_answer_otherwise)
        with pytest.raises(WarehouseError, match=r"reads back otherwise than the rows of raw.predictions"):
            retain(Warehouse(warehouse), AUDIT, 1)
    assert landed(warehouse, older) == before
    assert query(warehouse, "select count(*) from raw.retirements") == [(0,)]
    retain(Warehouse(warehouse), AUDIT, 1)
    assert archived(warehouse, older) == before


FULL = """
import resource, signal, sys
from pathlib import Path
from promptaudit.evidence.retain import retain
from promptaudit.warehouse import Warehouse

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # as a full disk: the write that crosses it fails
retain(Warehouse(Path(sys.argv[1])), "nightly", 1)
"""


def test_a_full_disk_is_one_line_and_drops_nothing(warehouse: Path) -> None:
    noise = tuple(os.urandom(3000).hex() for _ in range(100))  # 600 kB that do not compress below 300
    older, _ = land_night(warehouse, 0, 100, noise), land_night(warehouse, 1)
    before = landed(warehouse, older)
    child = [sys.executable, "-c", FULL, str(warehouse)]
    ended = subprocess.run(child, cwd=ROOT, capture_output=True, text=True, check=False)
    last = ended.stderr.strip().splitlines()[-1]
    assert "WarehouseError" in last
    assert "data.parquet.new: cannot be written: IO Error" in last
    assert landed(warehouse, older) == before
    assert [path for path in Warehouse(warehouse).places.archive.rglob("*") if path.is_file()] == []
    assert [item.n_rows for item in retain(Warehouse(warehouse), AUDIT, 1)] == [102]
    assert archived(warehouse, older) == before


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from promptaudit.evidence import retain as retaining
from promptaudit.warehouse import Warehouse, archive

left = 0

def instant():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

class Connection:
    def __init__(self, con):
        self.con = con
    def execute(self, statement, *given):
        if not statement.startswith(("--", "describe", "select", "with")):
            instant()
        return self.con.execute(statement, *given)

@contextmanager
def write(self, **named):
    with real_write(self, **named) as con:
        yield Connection(con)

def insert_new(con, table, rows):
    instant()
    return real_insert(con.con, table, rows)

def put_in_place(draft, path):
    instant()
    real_put(draft, path)
    instant()

real_write, real_insert, real_put = Warehouse.write, retaining.insert_new, archive.put_in_place
Warehouse.write, retaining.insert_new, archive.put_in_place = write, insert_new, put_in_place
for number, warehouse in enumerate(sys.argv[1:], 1):  # a process each, which is killed before its instant `number`
    process = os.fork()
    if process == 0:
        left = number
        retaining.retain(Warehouse(Path(warehouse)), "nightly", 1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_killed_at_any_instant_nothing_is_lost_and_the_next_call_goes_on(tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    Warehouse(start / "audit.duckdb").apply_schema()
    older, _ = land_night(start / "audit.duckdb", 0), land_night(start / "audit.duckdb", 1)
    query(start / "audit.duckdb", "delete from raw.attempts")  # two tables do
    before = landed(start / "audit.duckdb", older)
    # begin; write, put and there for each table; insert, the deletes, commit, checkpoint; then it ends by itself
    n_instants = 1 + 3 * 2 + 1 + 2 + 1 + 1
    copies = [shutil.copytree(start, tmp_path / f"{k}") / "audit.duckdb" for k in range(1, n_instants + 2)]
    child = [sys.executable, "-c", KILLED, *map(str, copies)]
    ended = subprocess.run(child, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [int(line) for line in ended.stdout.split()] == [-signal.SIGKILL] * n_instants + [0]
    for instant, warehouse in enumerate(copies, 1):
        is_retired = instant >= n_instants  # the commit is before the last instant, the checkpoint
        assert landed(warehouse, older) == (EMPTY if is_retired else before)
        assert is_retired == bool(retired_runs(Warehouse(warehouse)))
        assert len(retain(Warehouse(warehouse), AUDIT, 1)) == (not is_retired)
        assert landed(warehouse, older) == EMPTY
        assert archived(warehouse, older) == before
        assert query(warehouse, "select count(*), count(distinct table_name) from raw.retirements") == [(2, 2)]


def marts_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of marts, to 12 digits: a sum's last ones follow the order in which rows lie in the file."""
    with duckdb.connect(str(path), read_only=True) as con:
        tables = con.execute(
            "select table_name from information_schema.tables where table_schema = 'marts' and table_type = 'BASE TABLE'"
        ).fetchall()
        rows = {table: con.execute(f"select * from marts.{table}").fetchall() for (table,) in tables}
    rounded = {
        table: [tuple(float(f"{x:.12g}") if isinstance(x, float) else x for x in row) for row in found]
        for table, found in rows.items()
    }
    return {table: sorted(found, key=repr) for table, found in rounded.items()}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_marts_and_the_published_copy_of_a_retired_night_stay_and_rebuild_leaves_them(tmp_path: Path) -> None:
    def as_a_night(number: int, warehouse: Path, run: str) -> None:
        at = FIRST + timedelta(days=number)
        query(warehouse, "update raw.audit_runs set origin = 'run', started_at = ? where audit_run_id = ?", [at, run])

    def answers(number: int) -> list[dict[str, Any]]:
        return [
            {
                "model": "m",
                "sample_id": f"s{s}",
                "variant_index": v,
                "instruction": f"Wording {v}",
                "repetition": k,
                "gold_label": "yes",
                "completion": "yes" if (s * v + k + number) % 3 else "no",
            }
            for s in range(5)
            for v in range(3)
            for k in (1, 2)
        ]

    # each derived by itself, as nights are: bounds of a bootstrap may differ in a build of several
    recorded = Recorded(AUDIT, answers(0), ("yes", "no"), FormatLimits(), judge=functools.partial(as_a_night, 0))
    warehouse, (older,) = published(tmp_path, [recorded])
    pl.DataFrame(answers(1)).write_parquet(tmp_path / "newer.parquet")
    newer = import_predictions(
        Warehouse(warehouse),
        [tmp_path / "newer.parquet"],
        load_registry(),
        ImportOptions(labels=("yes", "no"), audit=AUDIT, task="colours", resamples=200),
    ).audit_run_id
    as_a_night(1, warehouse, newer)
    close_run(Warehouse(warehouse), newer, "complete")
    publish(Warehouse(warehouse))
    before = marts_of(Warehouse(warehouse).published.path)
    assert len(before["fct_predictions"]) == 30  # 5 samples × 3 wordings × 2 asks
    (done,) = retain(Warehouse(warehouse), AUDIT, 1)
    assert (done.audit_run_id, done.n_rows) == (older, 30)
    publish(Warehouse(warehouse), [newer])
    copy = Warehouse(warehouse).published.path
    assert query(copy, "select audit_run_id, count(*) from raw.predictions group by all") == [(newer, 30)]
    assert marts_of(copy) == before

    said: list[str] = []
    progress = Progress(quiet=True)
    progress.say = said.append  # type: ignore[method-assign]
    options = Settings(warehouse=warehouse)
    with pytest.raises(UsageError, match=rf"{older} is retired: .*archive; `promptaudit rebuild {older} --restore`"):
        rebuild_runs(options, older[:8], progress)
    with pytest.raises(UsageError, match="one run"):
        rebuild_runs(options, None, progress, restore_first=True)
    rebuild_runs(options, None, progress)  # the newer night has no marts before
    assert said == ["1 retired runs keep their marts as they are", "rebuilding 1 runs"]
    both = marts_of(copy)
    assert len(both["fct_predictions"]) == 60
    assert {table: [row for row in rows if row in both[table]] for table, rows in before.items()} == before
    file = Warehouse(warehouse).places.marts / f"rpt_audit/audit_run_id={older}/data.parquet"
    with file.open("ab") as damaged:
        damaged.write(b"!")
    (line,) = verify(Warehouse(warehouse)).restore[1:]
    assert line == f"restore the Parquet marts: rm -rf {file.parent} && promptaudit rebuild"
    shutil.rmtree(file.parent)
    rebuild_runs(options, None, progress)
    assert verify(Warehouse(warehouse)).findings == []
    del said[2:]
    rebuild_runs(options, older[:8], progress, restore_first=True)
    assert said[2:] == ["landed 30 rows of the archive again", "rebuilding 1 runs"]
    assert marts_of(copy) == both
    assert query(copy, "select count(*) from raw.predictions") == [(60,)]
