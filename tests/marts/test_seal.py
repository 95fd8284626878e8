"""What a run holds is sealed where it is published; what differs later is named, and what may change is no alarm."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from promptaudit.evidence.retain import restore, retain
from promptaudit.evidence.verify.runs import VerifyResult
from promptaudit.marts import publish as publishing
from promptaudit.marts.digests import digests, packed, unpacked
from promptaudit.marts.manifest import made_by
from promptaudit.marts.publish import is_published, publish
from promptaudit.marts.seal import Seal, seal_of, seals
from promptaudit.registry.errors import UsageError, WarehouseError
from promptaudit.report.verify_file import verify_with_pages as verify
from promptaudit.system.clock import now
from promptaudit.system.keys import sha256_of
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.figure_names import grains
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.selection import Selection
from tests.support.handmade_warehouse import Gated
from tests.support.http_audit import query
from tests.support.landed_nights import AUDIT, land_night
from tests.support.sealed_nights import sealed_night

pytestmark = pytest.mark.slow

SENT = {"notification_id": "n", "kind": "unmeasured", "state": "sent", "n_targets": 1, "recorded_at": now()}
ODD_FILE = "its Parquet file is not as it was written"


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    return Gated(tmp_path)


def change(path: Path, statement: str) -> None:
    with Warehouse(path).write() as con:
        con.execute(statement)


def newest(gated: Gated) -> Seal:
    with Warehouse(gated.warehouse).write() as con:
        return seals(con)[-1]


def held(gated: Gated, run: str | None = None, seal: str | None = None) -> VerifyResult:
    return verify(Warehouse(gated.warehouse), run, seal=seal)


def parquet(gated: Gated, run: str) -> Path:
    return Warehouse(gated.warehouse).places.marts / f"rpt_audit/audit_run_id={run}/data.parquet"


def flaws(found: VerifyResult) -> list[tuple[str, str, str, str]]:
    return [(each.kind, each.what, each.where, each.detail) for each in found.findings]


def test_a_row_is_hashed_as_its_columns_netstrings(gated: Gated) -> None:
    with Warehouse(gated.warehouse).write() as con:
        con.execute("create table one as select 'ab' as name, 0.1::double as figure, null::varchar as nothing")
        found = digests(con, Selection(relation="one"), ("figure", "name", "nothing"), ("name",))
    (row,) = found.rows()
    whole = hashlib.sha256(b"3:0.12:ab-").digest()  # 0.1 has three characters, ab two, nothing none
    assert row[0] == int.from_bytes(whole[:8])
    assert row[1] == int.from_bytes(whole[8:16])
    assert len(packed(found)) == 24
    assert unpacked(packed(found)).equals(found)


def test_a_published_run_has_a_seal_that_follows_the_one_before(gated: Gated) -> None:
    first, second = sealed_night(gated, 0), sealed_night(gated, 1)
    with Warehouse(gated.warehouse).write() as con:
        chain = seals(con)
    assert [(found.seal_index, found.audit_run_id, found.reason) for found in chain] == [
        (1, first, "complete"),
        (2, second, "complete"),
    ]
    one, two = chain
    assert (one.previous_seal, two.previous_seal) == (None, one.seal)
    assert two.seal == sha256_of(one.seal, "2", second, "complete", two.sealed_at.isoformat(), two.manifest)
    entries = two.entries
    assert {name: entries["raw"][name]["n_rows"] for name in entries["raw"]} == {
        "audit_runs": 1,
        "predictions": 4,
        "attempts": 1,
        "verdicts": 1,
        "prompt_variants": 1,
    }
    assert entries["marts"]["rpt_audit"]["n_rows"] == 1
    assert len(entries["code"]) == len(entries["dbt_project"]) == 64


def test_publishing_again_seals_nothing_and_what_lands_later_is_sealed_alone(gated: Gated) -> None:
    run = sealed_night(gated)
    publish(Warehouse(gated.warehouse))
    with Warehouse(gated.warehouse).write() as con:
        assert len(seals(con)) == 1
    row = {"audit_run_id": run, "audit_id": AUDIT, "name": "good", "reason": None, "pinned_at": now()}
    Warehouse(gated.warehouse).land([("baselines", frame_of("baselines", [row]))])
    assert flaws(held(gated)) == [("unsealed", "raw.baselines", "the warehouse", "")]
    assert held(gated).exit_code == 3
    publish(Warehouse(gated.warehouse))
    last = newest(gated)
    assert (last.reason, last.entries["raw"]["baselines"]["n_new"]) == ("landed", 1)
    assert last.entries["raw"]["predictions"] | {"columns": []} == {
        "n_rows": 4,
        "n_new": 0,
        "sha256": None,
        "columns": [],
    }
    assert held(gated).exit_code == 0


@pytest.mark.soak
def test_fifty_runs_raise_no_alarm_here_or_on_another_path(gated: Gated, tmp_path: Path) -> None:
    n = 50
    for night in range(n):
        run = land_night(gated.warehouse, night)
        gated.row("rpt_audit", run, audit_id=AUDIT, sensitivity=night / 100)
        gated.written()
        if night % 10 == 9:
            publish(Warehouse(gated.warehouse), [f"{each:032x}" for each in range(night - 9, night + 1)])
    found = held(gated)
    assert (found.exit_code, found.findings) == (0, [])
    assert {run.state for run in found.runs} == {"untouched"}
    assert len(found.runs) == n
    elsewhere = tmp_path / "copied" / "here"
    shutil.copytree(gated.warehouse.parent, elsewhere)
    copied = verify(Warehouse(elsewhere / gated.warehouse.name))
    assert (copied.exit_code, len(copied.runs)) == (0, n)
    retain(Warehouse(gated.warehouse), AUDIT, n - 10)
    publish(Warehouse(gated.warehouse))
    after = held(gated)
    assert after.exit_code == 0
    assert [run.state for run in after.runs] == ["retired"] * 10 + ["untouched"] * (n - 10)
    restore(Warehouse(gated.warehouse), after.runs[0].audit_run_id)
    publish(Warehouse(gated.warehouse))
    assert [run.state for run in held(gated).runs][:2] == ["untouched", "retired"]


ALTERED = {
    "update raw.predictions set completion = 'no' where prediction_id = 'p1'": (
        ("changed", "raw.predictions", "column completion")
    ),
    "delete from raw.predictions where prediction_id = 'p2'": ("gone", "raw.predictions", ""),
    "insert into raw.attempts select * replace ('p' as prediction_id) from raw.attempts": ("added", "raw.attempts", ""),
    "insert into raw.predictions select * replace ('forged' as completion) from raw.predictions where prediction_id = 'p1'": (
        ("added", "raw.predictions", "it stands there more than once")
    ),
    "insert into raw.samples (audit_run_id, task_id, sample_id, sample_index) values ('unheard-of', 't', 's', 0)": (
        ("added", "run", "rows of a run that was never opened")
    ),
    "update raw.audit_runs set finished_at = now()": (
        ("changed", "raw.audit_runs", "state or finished_at is not what was sealed (complete, None)")
    ),
    "update marts.rpt_audit set sensitivity = 0.24": ("changed", "marts.rpt_audit", "column sensitivity"),
    "insert into marts.rpt_audit from marts.rpt_audit": ("added", "marts.rpt_audit", "it stands there more than once"),
    "delete from raw.row_digests where table_name = 'attempts'": ("gone", "raw.row_digests", ""),
    "create view marts.rpt_better as select 1 as sensitivity": (
        ("added", "view marts.rpt_better", "no version of promptaudit makes it")
    ),
    "update raw.seals set reason = 'derived'": ("broken", "seal", "it is not the hash of its manifest"),
}


@pytest.mark.parametrize("statement", ALTERED)
def test_what_differs_is_named(gated: Gated, statement: str) -> None:
    sealed_night(gated)
    change(gated.warehouse, statement)
    found = held(gated)
    kind, what, detail = ALTERED[statement]
    assert flaws(found)[0] == (kind, what, "the warehouse", detail)
    assert found.exit_code == 1


def test_a_view_that_says_something_else_is_named_in_each_place(gated: Gated) -> None:
    change(gated.warehouse, "create view marts.rpt_latest as select * from marts.rpt_audit")
    sealed_night(gated)
    assert held(gated).exit_code == 0
    other = "create or replace view marts.rpt_latest as select * replace (0.1 as sensitivity) from marts.rpt_audit"
    change(Warehouse(gated.warehouse).published.path, other)
    assert flaws(held(gated)) == [("changed", "view marts.rpt_latest", "the published copy", "")]
    change(gated.warehouse, other)
    land_night(gated.warehouse, 2)
    publish(Warehouse(gated.warehouse))  # what is sealed without a build hides nothing
    places = [("changed", "view marts.rpt_latest", place, "") for place in ("the warehouse", "the published copy")]
    assert flaws(held(gated)) == places
    change(gated.warehouse, "drop view marts.rpt_latest")
    assert flaws(held(gated))[0] == ("gone", "view marts.rpt_latest", "the warehouse", "")


def test_an_id_that_is_sql_is_no_run(gated: Gated, tmp_path: Path) -> None:
    sealed_night(gated)
    hostile = f"x'); copy (select 1) to '{tmp_path}/written'; select 1 from (select '1"
    with Warehouse(gated.warehouse).write() as con:
        con.execute(
            "insert into raw.samples (audit_run_id, task_id, sample_id, sample_index) values (?, 't', 's', 0)",
            [hostile],
        )
    (found,) = held(gated).findings
    assert (found.kind, found.what, found.detail) == ("broken", "raw.samples", "no id that a run could have")
    assert not (tmp_path / "written").exists()


def test_an_older_run_is_sealed_with_its_marts_whoever_publishes(gated: Gated) -> None:
    run = land_night(gated.warehouse, 0)
    gated.row("rpt_audit", run, audit_id=AUDIT, sensitivity=0.25, n_samples=4)
    gated.written()
    publish(Warehouse(gated.warehouse))  # of another run, which names this one not
    assert held(gated).findings == []


def test_the_published_copy_is_held_against_the_seals_too(gated: Gated) -> None:
    sealed_night(gated)
    change(Warehouse(gated.warehouse).published.path, "update marts.rpt_audit set sensitivity = 0.1")
    (found,) = held(gated).findings
    assert found.line == (
        "changed: marts.rpt_audit model_id=m, task_id=t, strategy=simple in the published copy: column sensitivity"
    )


def test_what_cannot_be_read_is_named_and_the_next_publication_replaces_it(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sealed_night(gated)
    path, copy = parquet(gated, run), Warehouse(gated.warehouse).published.path
    path.write_bytes(b"PAR1 is how it begins")
    in_parquet = ("broken", "marts.rpt_audit", "the Parquet marts", "it cannot be read: InvalidInputException")
    assert flaws(held(gated)) == [("changed", *in_parquet[1:3], ODD_FILE), in_parquet]
    path.unlink()
    copy.write_bytes(b"no database")
    (of_copy, of_file) = held(gated).findings
    assert (of_copy.kind, of_copy.what, of_copy.where) == ("broken", "file", "the published copy")
    assert (of_file.kind, of_file.what, of_file.where) == ("gone", "marts.rpt_audit", "the Parquet marts")
    assert not is_published(Warehouse(gated.warehouse), run)
    publish(Warehouse(gated.warehouse))
    assert held(gated).findings == []
    change(gated.warehouse, "update marts.rpt_audit set sensitivity = 0.1")
    monkeypatch.setattr("promptaudit.evidence.verify.rows.Rows.digests", lambda *_: b"\xff".decode())
    found = [each[:2] for each in flaws(held(gated))]  # of rows, whatever their reader raises
    assert {("broken", "raw.predictions"), ("changed", "marts.rpt_audit")} <= set(found)
    copy.unlink()
    forged = seal_of(replace(newest(gated), manifest="["))  # no JSON, and rightly hashed
    change(gated.warehouse, f"update raw.seals set manifest = '[', seal = '{forged}'")
    assert ("broken", "seal") in [each[:2] for each in flaws(held(gated))]


def test_a_file_whose_rows_are_as_sealed_is_held_by_its_hash(gated: Gated) -> None:
    first, second = sealed_night(gated), sealed_night(gated, 1)
    path = parquet(gated, first)
    with duckdb.connect() as con:  # a bit of a filter in it would hide rows from a query alone
        con.execute(
            f"copy (from read_parquet('{path}', hive_partitioning = false)) to '{path}.new' (format parquet, compression gzip)"
        )
    path.with_name(f"{path.name}.new").replace(path)
    found = verify(Warehouse(gated.warehouse))
    assert flaws(found) == [("changed", "marts.rpt_audit", "the Parquet marts", ODD_FILE)]
    assert {run.audit_run_id: run.state for run in found.runs} == {first: "differs", second: "untouched"}
    assert found.restore[-1].endswith(f"promptaudit rebuild {first}")
    assert verify(Warehouse(gated.warehouse), second).findings == []
    change(gated.warehouse, "alter table raw.publications drop column files")
    Warehouse(gated.warehouse).published.path.unlink()
    assert flaws(verify(Warehouse(gated.warehouse))) == []  # of an earlier version


def test_to_verify_changes_no_file_and_makes_none(gated: Gated) -> None:
    run, warehouse = sealed_night(gated), Warehouse(gated.warehouse)
    warehouse.let_go()
    with parquet(gated, run).open("ab") as damaged:
        damaged.write(b"!")
    before = hashlib.sha256(warehouse.path.read_bytes()).hexdigest()
    assert verify(warehouse).exit_code == 1
    assert hashlib.sha256(warehouse.path.read_bytes()).hexdigest() == before
    warehouse.path.unlink()
    for _ in range(2):
        assert verify(warehouse).exit_code == 1
        assert not warehouse.path.exists()


def test_what_is_recorded_of_files_does_not_grow_with_each_publication(gated: Gated) -> None:
    run = sealed_night(gated)
    sealed_night(gated, 1)
    for sensitivity in (0.1, 0.2, 0.3):
        change(gated.warehouse, f"update marts.rpt_audit set sensitivity = {sensitivity} where audit_run_id = '{run}'")
        publish(Warehouse(gated.warehouse), [run])
        assert held(gated).findings == []
    recorded = [
        (name, hashes)
        for row in Warehouse(gated.warehouse).read("select files from raw.publications where files is not null")
        for name, hashes in json.loads(row["files"]).items()
    ]
    assert len(dict(recorded)) == len(recorded)
    assert len(next(hashes for name, hashes in recorded if name.startswith("rpt_audit/") and run in name)) == 2
    assert max(len(hashes) for _, hashes in recorded) == 2  # as it was, and as it is


def test_rows_altered_and_sealed_anew_are_told_by_the_seal_somebody_kept(gated: Gated) -> None:
    run = sealed_night(gated)
    kept = newest(gated).seal
    found = held(gated, run, seal=kept[:16])
    assert (found.exit_code, found.against) == (0, kept)
    change(
        gated.warehouse,
        "delete from raw.seals; delete from raw.row_digests; update raw.predictions set completion = 'no'",
    )
    publish(Warehouse(gated.warehouse), [run])  # the whole chain anew
    assert held(gated).exit_code == 0
    again = held(gated, seal=kept)
    assert again.exit_code == 1
    assert "another history" in again.findings[0].detail


def test_views_altered_and_sealed_anew_are_told_by_the_seal_somebody_kept(gated: Gated) -> None:
    change(gated.warehouse, "create view marts.rpt_latest as from marts.rpt_audit")
    run = sealed_night(gated)
    kept = newest(gated).seal
    change(gated.warehouse, "create or replace view marts.rpt_latest as select 0.99 as micro_f1")
    change(gated.warehouse, "create view marts.rpt_best as select 1 as one")
    publish(Warehouse(gated.warehouse), [run])
    (planted, *others) = held(gated).findings
    assert (planted.kind, planted.what) == ("added", "view marts.rpt_best")
    assert {each.what for each in others} == {"view marts.rpt_best"}  # of the copy
    found = [(each.kind, each.what) for each in held(gated, seal=kept).findings]
    assert ("changed", "view marts.rpt_latest") in found


@pytest.fixture
def _as_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marts row by row come out of no rows, so nothing derives them again here: tests/end_to_end/test_evidence.py does."""
    monkeypatch.setattr(sys.modules["promptaudit.evidence.verify.runs"], "check_again", lambda _, found, __: found)


@pytest.mark.usefixtures("_as_found")
def test_marts_altered_and_sealed_anew_are_told_by_the_seal_somebody_kept(gated: Gated) -> None:
    run, other = sealed_night(gated, 0), sealed_night(gated, 1)
    kept = newest(gated).seal
    assert held(gated, seal=kept).exit_code == 0
    change(gated.warehouse, f"update marts.rpt_audit set sensitivity = 0.99 where audit_run_id = '{run}'")
    publish(Warehouse(gated.warehouse), [run])
    assert held(gated).exit_code == 0  # it proves order alone
    (found,) = held(gated, seal=kept).findings
    assert (found.kind, found.what, found.audit_run_id) == ("changed", "marts.rpt_audit", run)
    assert "same rows, same code" in found.detail
    assert held(gated, other, seal=kept).exit_code == 0


@pytest.mark.soak  # two builds, for a case of what is unsealed
def test_marts_of_more_rows_cannot_be_held_against_an_older_seal(gated: Gated) -> None:
    run = sealed_night(gated)
    kept = newest(gated).seal
    Warehouse(gated.warehouse).land([("notifications", frame_of("notifications", [{"audit_run_id": run, **SENT}]))])
    change(gated.warehouse, "update marts.rpt_audit set sensitivity = 0.3")
    publish(Warehouse(gated.warehouse), [run])
    assert held(gated, seal=kept).exit_code == 1  # a notification measures nothing
    land_night(gated.warehouse, 0, 5)
    publish(Warehouse(gated.warehouse), [run])
    again = held(gated, seal=kept)
    assert again.exit_code == 3  # though marts come out of rows, nobody vouches for the rows
    assert [(each.kind, each.what) for each in again.findings] == [("unsealed", "marts.rpt_audit")]
    assert f"after seal 1, 1 rows of raw.predictions landed in run {run}" in again.notes


def test_an_altered_row_is_not_sealed_over_by_the_next_publication(gated: Gated) -> None:
    run = sealed_night(gated)
    change(gated.warehouse, "update raw.predictions set completion = 'no' where prediction_id = 'p0'")
    publish(Warehouse(gated.warehouse), [run])
    kinds = {(each.kind, each.what, each.which) for each in held(gated).findings}
    assert kinds == {("changed", "raw.predictions", "prediction_id=p0")}


def compared(gated: Gated, base: str, run: str, by: str) -> None:
    gated.compared(base, run, {"measure": "sensitivity", "difference": 0.1}, by=by)
    gated.written()


def test_a_comparison_is_sealed_and_nothing_that_was_altered_before(gated: Gated) -> None:
    change(gated.warehouse, "create view marts.rpt_latest as select * from marts.rpt_audit")
    base, run = sealed_night(gated), sealed_night(gated, 1)
    compared(gated, base, run, "c1")
    publish(Warehouse(gated.warehouse), compared=["c1"])
    assert held(gated).findings == []
    change(gated.warehouse, f"update marts.rpt_audit set sensitivity = 0.1 where audit_run_id = '{run}'")
    change(gated.warehouse, "create or replace view marts.rpt_latest as select 1 as sensitivity")
    change(gated.warehouse, "update marts.rpt_run_comparisons set difference = 0.9")
    compared(gated, base, run, "c2")
    publish(Warehouse(gated.warehouse), compared=["c2"])
    found = {(each.kind, each.what, each.where) for each in held(gated).findings}
    altered = ("marts.rpt_audit", "marts.rpt_run_comparisons", "view marts.rpt_latest")
    assert found >= {("changed", what, "the warehouse") for what in altered}
    assert all("c2" not in each.which for each in held(gated).findings)
    publish(Warehouse(gated.warehouse), [run], compared=["c1", "c2"])  # derived again, as sealed now
    assert held(gated, run).findings == []


def test_a_comparison_that_was_cut_short_waits_for_its_seal_and_one_that_nobody_asked_for_is_added(
    gated: Gated,
) -> None:
    base, run = sealed_night(gated), sealed_night(gated, 1)
    compared(gated, base, run, "c1")
    publish(Warehouse(gated.warehouse))  # somebody else's
    found = held(gated)
    assert found.exit_code == 3
    assert {(each.kind, each.what, each.which) for each in found.findings} == {
        ("unsealed", "marts.rpt_run_comparisons", "c1")
    }
    publish(Warehouse(gated.warehouse), compared=["c1"])
    assert held(gated).findings == []
    change(
        gated.warehouse,
        "insert into marts.rpt_run_comparisons select * replace ('x'' or true' as comparison_id) from marts.rpt_run_comparisons",
    )
    assert flaws(held(gated)) == [
        ("added", "marts.rpt_run_comparisons", "the warehouse", "1 rows of a mart that no seal has")
    ]


def test_a_comparison_that_is_forged_in_a_place_is_added_there(gated: Gated) -> None:
    runs = [sealed_night(gated, night) for night in range(3)]
    for by, candidate in (("c1", runs[1]), ("c2", runs[2])):
        compared(gated, runs[0], candidate, by)
    publish(Warehouse(gated.warehouse), compared=["c1", "c2"])
    assert held(gated).findings == []
    forged = (
        "insert into marts.rpt_run_comparisons select * replace ({} as comparison_id) from marts.rpt_run_comparisons"
    )
    change(Warehouse(gated.warehouse).published.path, forged.format("'forged'"))
    added = {(each.kind, each.what, each.where, each.audit_run_id) for each in held(gated).findings}
    assert added == {("added", "marts.rpt_run_comparisons", "the published copy", run) for run in runs[1:]}
    change(gated.warehouse, forged.format("null"))
    found = [each for each in held(gated).findings if each.where == "the warehouse"]
    assert {(each.kind, each.detail) for each in found} == {("added", "rows of no comparison")}


def test_a_table_that_is_gone_from_the_copy_is_said(gated: Gated) -> None:
    sealed_night(gated)
    change(Warehouse(gated.warehouse).published.path, "drop table marts.rpt_audit")
    assert flaws(held(gated)) == [("gone", "marts.rpt_audit", "the published copy", "its table")]
    change(Warehouse(gated.warehouse).published.path, "drop table raw.seals")
    assert flaws(held(gated)) == [("gone", "raw.seals", "the published copy", "its table")]


def test_a_night_that_had_no_run_leaves_no_files(gated: Gated) -> None:
    Warehouse(gated.warehouse).land([("notifications", frame_of("notifications", [SENT | {"audit_run_id": "f" * 32}]))])
    publish(Warehouse(gated.warehouse))
    assert held(gated).findings == []
    assert not list(Warehouse(gated.warehouse).published.path.parent.glob("marts/*/*"))


def test_files_half_written_anew_are_told_as_such(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sealed_night(gated)
    change(gated.warehouse, f"update marts.rpt_audit set sensitivity = 0.5 where audit_run_id = '{run}'")
    change(gated.warehouse, f"insert into marts.dim_tasks (audit_run_id, task_id) values ('{run}', 'new')")
    exchange = publishing._exchange

    def one(path: Path) -> None:
        exchange(path)
        if path.parents[1].name == "dim_tasks":
            raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "_exchange", one)
    with pytest.raises(KeyboardInterrupt):
        publish(Warehouse(gated.warehouse), [run])
    monkeypatch.undo()
    assert {each.kind for each in held(gated).findings if each.where == "the Parquet marts"} == {"unsealed"}
    publish(Warehouse(gated.warehouse))
    assert held(gated).findings == []


def test_files_that_a_publication_cut_short_left_behind_come_with_the_next(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed_night(gated)
    monkeypatch.setattr("promptaudit.marts.publish._exchange", stopped)
    with pytest.raises(KeyboardInterrupt):
        sealed_night(gated, 1)
    monkeypatch.undo()
    land_night(gated.warehouse, 2)
    publish(Warehouse(gated.warehouse))
    assert held(gated).findings == []


def stopped(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_run_is_published_once_its_marts_are_those_of_its_last_close(gated: Gated) -> None:
    run = gated.run("a")
    gated.row("rpt_audit", run, audit_id=AUDIT, sensitivity=0.25)
    gated.written()
    assert not is_published(Warehouse(gated.warehouse), run)
    change(gated.warehouse, "update raw.audit_runs set finished_at = '2026-11-01 02:00:00'")
    publish(Warehouse(gated.warehouse))  # whoever does meanwhile
    assert not is_published(Warehouse(gated.warehouse), run)
    publish(Warehouse(gated.warehouse), [run])
    assert is_published(Warehouse(gated.warehouse), run)
    change(gated.warehouse, "update raw.audit_runs set finished_at = '2026-11-01 03:00:00'")  # opened and closed again
    change(gated.warehouse, "update marts.rpt_audit set sensitivity = 0.5")  # by a build that was cut short
    Warehouse(gated.warehouse).land([("notifications", frame_of("notifications", [SENT | {"audit_run_id": run}]))])
    publish(Warehouse(gated.warehouse))
    assert not is_published(Warehouse(gated.warehouse), run)
    of_rows = [each for each in held(gated).findings if each.where != "the Parquet marts"]
    assert {each.detail for each in of_rows} == {"being derived again: `promptaudit run` finishes it"}
    assert {each.kind for each in of_rows} == {"unsealed"}
    publish(Warehouse(gated.warehouse), [run])
    assert is_published(Warehouse(gated.warehouse), run)
    assert held(gated).findings == []


def test_a_mart_that_a_build_makes_no_more_is_sealed_no_more(gated: Gated) -> None:
    run = sealed_night(gated)
    change(gated.warehouse, "drop table marts.fct_judge_agreement")
    assert flaws(held(gated))[0] == ("gone", "marts.fct_judge_agreement", "the warehouse", "its table")
    publish(Warehouse(gated.warehouse), [run])
    assert held(gated).findings == []


def test_a_mart_of_another_version_waits_for_the_next_build(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sealed_night(gated)
    newer = {mart: grain for mart, grain in grains().items() if mart != "fct_judge_agreement"}
    for module in ("marts.seal", "evidence.verify.marts"):
        monkeypatch.setattr(f"promptaudit.{module}.grains", lambda: newer)
    found = held(gated)
    assert found.exit_code == 3
    assert {each.what for each in found.findings} == {"marts.fct_judge_agreement"}
    publish(Warehouse(gated.warehouse), [run])
    assert held(gated).findings == []


def test_views_of_another_version_are_sealed_by_the_first_build_of_the_new_one(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, run = sealed_night(gated), sealed_night(gated, 1)
    newer = made_by() | {"dbt_project": "1" * 64}
    monkeypatch.setattr("promptaudit.marts.seal.made_by", lambda: newer)
    monkeypatch.setattr("promptaudit.evidence.verify.marts.made_by", lambda: newer)
    land_night(gated.warehouse, 2)
    publish(Warehouse(gated.warehouse))  # by the new version, without a build
    change(gated.warehouse, "create schema if not exists staging; create view staging.stg_comparisons as select 2 as x")
    compared(gated, base, run, "c1")
    publish(Warehouse(gated.warehouse), compared=["c1"])
    assert held(gated).findings == []
    change(gated.warehouse, "create or replace view staging.stg_comparisons as select 3 as x")
    assert flaws(held(gated)) == [("unsealed", "view staging.stg_comparisons", "the warehouse", "")]
    publish(Warehouse(gated.warehouse), [run])
    change(gated.warehouse, "create or replace view staging.stg_comparisons as select 4 as x")
    assert flaws(held(gated)) == [("changed", "view staging.stg_comparisons", "the warehouse", "")]


def test_a_seal_that_is_none_is_a_usage_error(gated: Gated) -> None:
    sealed_night(gated)
    assert held(gated, seal="a1" * 40).exit_code == 1
    for seal in ("short", "x" * 20):
        with pytest.raises(UsageError, match="--seal"):
            held(gated, seal=seal)


def test_a_run_that_is_still_running_waits_for_its_seal(gated: Gated) -> None:
    run = land_night(gated.warehouse, 0, state="running")
    publish(Warehouse(gated.warehouse))
    assert query(gated.warehouse, "select count(*) from raw.seals") == [(0,)]
    found = held(gated)
    assert [(each.audit_run_id, each.state) for each in found.runs] == [(run, "running")]
    assert found.exit_code == 0


def test_what_nobody_made_is_named_wherever_readers_look(gated: Gated) -> None:
    change(gated.warehouse, "create schema mine; create table mine.notes as select 'r' as audit_run_id")  # is nobody's
    sealed_night(gated)
    assert held(gated).findings == []
    change(Warehouse(gated.warehouse).published.path, "create view marts.rpt_best as select 1 as micro_f1")
    change(gated.warehouse, "create table marts.rpt_best as select .99 as micro_f1")
    change(gated.warehouse, "create table rpt_audit as from marts.rpt_audit")
    files = Warehouse(gated.warehouse).published.path.parent / "marts"
    (of_run,) = (files / "rpt_audit").iterdir()
    for place in (of_run, files / "rpt_audit/audit_run_id=ffff", files / "rpt_best"):
        place.mkdir(exist_ok=True)
        shutil.copy(of_run / "data.parquet", place / "more.parquet")
    found = held(gated)
    assert found.exit_code == 1
    assert {(each.kind, each.what, each.which, each.where) for each in found.findings} == {
        ("added", "view marts.rpt_best", "", "the published copy"),
        ("added", "marts.rpt_best", "", "the warehouse"),
        ("added", "main.rpt_audit", "", "the warehouse"),
        ("added", "file", f"rpt_audit/{of_run.name}/more.parquet", "the Parquet marts"),
        ("added", "file", "rpt_audit/audit_run_id=ffff/more.parquet", "the Parquet marts"),
        ("added", "file", "rpt_best/more.parquet", "the Parquet marts"),
    }


def test_two_warehouses_in_one_folder_publish_apart(gated: Gated) -> None:
    run = sealed_night(gated)
    other = gated.warehouse.with_name("other.duckdb")
    shutil.copy(gated.warehouse, other)
    change(other, "update marts.rpt_audit set sensitivity = 0.5")
    publish(Warehouse(other), [run])
    assert Warehouse(other).published.path == gated.warehouse.parent / "published/other.duckdb"
    for each in (gated.warehouse, other):
        found = verify(Warehouse(each))
        assert (found.exit_code, [verified.state for verified in found.runs]) == (0, ["untouched"])
    own, others = gated.warehouse.parent / "published/marts", gated.warehouse.parent / "published/other.duckdb.d/marts"
    files = [place / f"rpt_audit/audit_run_id={run}/data.parquet" for place in (own, others)]
    with Warehouse(gated.warehouse).write() as con:
        figures = [con.execute("select sensitivity from read_parquet(?)", [str(file)]).fetchall() for file in files]
    assert figures == [[(0.25,)], [(0.5,)]]


def test_views_that_say_which_runs_there_are_are_files_too(gated: Gated) -> None:
    change(
        gated.warehouse, "create view marts.dim_nights as select audit_run_id, 1 as night_number from marts.rpt_audit"
    )
    sealed_night(gated)
    file = Warehouse(gated.warehouse).published.path.parent / "marts/dim_nights/data.parquet"
    with Warehouse(gated.warehouse).write() as con:
        assert con.execute("select night_number from read_parquet(?)", [str(file)]).fetchall() == [(1,)]
    assert not file.parent.with_name("rpt_latest").exists()  # no such view was made here
    assert held(gated).findings == []

    with Warehouse(gated.warehouse).write() as con:
        con.execute(f"copy (select audit_run_id, 2 as night_number from marts.dim_nights) to '{file}' (format parquet)")
    detail, view = "its Parquet file", "view marts.dim_nights"
    odd = ("changed", "marts.dim_nights", "the Parquet marts", ODD_FILE)
    assert flaws(held(gated)) == [odd, ("changed", view, "the Parquet marts", detail)]
    file.write_bytes(b"PAR1 is how it begins")
    assert [each[:3] for each in flaws(held(gated))] == [odd[:3], ("broken", view, "the Parquet marts")]
    file.unlink()
    assert flaws(held(gated)) == [("gone", view, "the Parquet marts", detail)]
    publish(Warehouse(gated.warehouse))
    assert held(gated).findings == []


def test_figures_that_another_order_of_sums_makes_are_untouched_and_forged_ones_changed(gated: Gated) -> None:
    sealed_night(gated)
    change(gated.warehouse, "update marts.rpt_audit set sensitivity = sensitivity + 1e-12")
    rebuilt = held(gated)
    assert (rebuilt.exit_code, flaws(rebuilt)) == (0, [])
    change(gated.warehouse, "update marts.rpt_audit set sensitivity = sensitivity + 1e-6")
    assert held(gated).exit_code == 1


def test_what_readers_would_see_otherwise_is_found_among_the_files_of_many_runs(gated: Gated) -> None:
    first, second = sealed_night(gated, 0), sealed_night(gated, 1)
    assert held(gated).exit_code == 0
    path = parquet(gated, second)
    whole = path.read_bytes()
    # another type, which all files together would be cast from, and a column that no seal has
    for columns, kind, detail in (
        ("* replace (n_samples + 0.4 as n_samples)", "changed", "column n_samples"),
        ("*, 0.5 as better", "added", "column better"),
    ):
        with Warehouse(gated.warehouse).write() as con:
            con.execute(f"copy (select {columns} from read_parquet('{path}')) to '{path}.new' (format parquet)")
        Path(f"{path}.new").replace(path)
        found = held(gated)
        assert (kind, "marts.rpt_audit", "the Parquet marts", detail) in flaws(found)
        assert found.exit_code == 1
        path.write_bytes(whole)
    link = path.parent.with_name("audit_run_id=elsewhere")
    link.symlink_to(path.parent)
    (of_link,) = held(gated).findings
    assert (of_link.kind, of_link.which) == ("added", "rpt_audit/audit_run_id=elsewhere")
    link.unlink()
    view = Warehouse(gated.warehouse).places.marts / f"rpt_latest/audit_run_id={first}/data.parquet"
    view.parent.mkdir(parents=True)
    view.write_bytes(whole)
    assert ("added", "file") in {(each.kind, each.what) for each in held(gated).findings}


def test_a_run_that_is_said_to_be_running_has_no_marts_that_nobody_sealed(gated: Gated) -> None:
    sealed_night(gated, 0)
    forged = sealed_night(gated, 1)
    change(gated.warehouse, f"delete from raw.seals where audit_run_id = '{forged}'")
    change(gated.warehouse, f"delete from raw.row_digests where audit_run_id = '{forged}'")
    change(gated.warehouse, f"update raw.audit_runs set state = 'running' where audit_run_id = '{forged}'")
    Warehouse(gated.warehouse).published.path.unlink()
    found = held(gated)
    assert found.exit_code == 1
    assert {("unsealed", "run"), ("added", "file")} <= {(each.kind, each.what) for each in found.findings}


def test_a_column_that_is_computed_for_each_query_is_refused(gated: Gated) -> None:
    sealed_night(gated)
    change(
        gated.warehouse,
        "alter table marts.rpt_audit rename to kept; "
        "create table marts.rpt_audit (n bigint, m double generated always as (random()))",
    )
    Warehouse(gated.warehouse).published.path.unlink()
    with pytest.raises(WarehouseError, match=r"computed column of marts\.rpt_audit"):
        held(gated)


def test_a_column_that_was_added_is_not_sealed_by_what_restores_it(gated: Gated) -> None:
    sealed_night(gated)
    change(gated.warehouse, "alter table marts.rpt_audit add column better double default 0.5")
    found = held(gated)
    assert ("added", "marts.rpt_audit", "the warehouse", "column better") in flaws(found)
    assert any(line.startswith("restore the warehouse: mv ") for line in found.restore)
    assert not any(line == "restore the warehouse: promptaudit rebuild" for line in found.restore)


def test_rows_of_a_running_run_in_the_copy_alone_are_named(gated: Gated) -> None:
    sealed_night(gated)
    copy = Warehouse(gated.warehouse).published.path
    forged = "select * replace ('forged' as audit_run_id{0}) from {1} limit 1"
    for path in (gated.warehouse, copy):
        running = forged.format(", 'running' as state", "raw.audit_runs")
        change(path, f"insert into raw.audit_runs by name {running}")
    change(copy, f"insert into marts.rpt_audit by name {forged.format('', 'marts.rpt_audit')}")
    assert ("unsealed", "the published copy") in {(each.kind, each.where) for each in held(gated, "forged").findings}
