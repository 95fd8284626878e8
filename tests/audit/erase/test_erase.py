"""A sample's texts leave every file under the warehouse's folder; its figures stay, and `verify` says that it was erased."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from markupsafe import escape

from promptaudit.ask.shards.land_segments import askers_folder
from promptaudit.ask.shards.messages import ASKER, AskerState, write_message
from promptaudit.audit.erase.erase import GONE, Erasure, erase
from promptaudit.evidence.retain import restore, retain, retired_runs
from promptaudit.exchange.citation.cite import _refuse_retired
from promptaudit.exchange.citation.copy_of_run import copy_run
from promptaudit.marts.publish import publish
from promptaudit.registry.errors import DataError, UsageError
from promptaudit.report.verify_file import verify_with_pages as verify
from promptaudit.system.processes import machine
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from tests.support.handmade_warehouse import Gated
from tests.support.http_audit import query
from tests.support.lakes import placed_lake
from tests.support.landed_nights import AUDIT, land_night

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

INPUT = 'Zoë Quellington called from "17 Larch Mews" on Tuesday'
SAID = "Ms Quellington seems upset"
GOLD = "Zoë Quellington"
MARTS = (
    "dim_audit_runs",
    "dim_samples",
    "dim_prompt_variants",
    "fct_predictions",
    "fct_field_values",
    "fct_verdicts",
    "rpt_audit",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Gated:
    """Three nights, the oldest retired; sample s1 of each is somebody's, and an example in a prompt quotes it."""
    gated = Gated(tmp_path_factory.mktemp("made"), MARTS)
    prompt = json.dumps([{"role": "user", "content": f"As in: {INPUT}"}], ensure_ascii=False)
    runs = []
    for night in range(3):
        run = land_night(gated.warehouse, night, texts=("yes", SAID, "no", "no"))
        runs.append(run)
        samples = [
            {
                "audit_run_id": run,
                "task_id": "t",
                "sample_id": f"s{n}",
                "sample_index": n,
                "gold_label": "yes",
                "input": INPUT if n == 1 else "Nothing of anybody's.",
                "fields": json.dumps({"question": INPUT}) if n == 1 else None,
                "reference_answers": json.dumps([json.dumps({"caller": GOLD})]) if n == 1 else None,
            }
            for n in range(4)
        ]
        variant = {
            "audit_run_id": run,
            "prompt_variant_id": "w",
            "task_id": "t",
            "strategy": "one_shot",
            "variant_index": 0,
            "is_original": True,
            "is_edited": False,
            "prompt": prompt,
            "repetitions": [1],
        }
        Warehouse(gated.warehouse).land(
            [("samples", frame_of("samples", samples)), ("prompt_variants", frame_of("prompt_variants", [variant]))]
        )
        gated.row("rpt_audit", run, audit_id=AUDIT, sensitivity=0.25)
        gated._pending += [
            ("marts.dim_samples", {"audit_run_id": run, "task_id": "t", "sample_id": "s1", "input": INPUT}),
            (
                "marts.dim_prompt_variants",
                {"audit_run_id": run, "task_id": "t", "prompt_variant_id": "w", "prompt": prompt},
            ),
            (
                "marts.fct_predictions",
                {
                    "audit_run_id": run,
                    "prediction_id": "p1",
                    "task_id": "t",
                    "sample_id": "s1",
                    "completion": SAID,
                    "label": "yes",
                },
            ),
        ]
        for n, said in ((1, {"raw_value": SAID, "value": SAID, "gold_value": GOLD}), (2, {"raw_value": f"not {GOLD}"})):
            value = {"prediction_id": f"p{n}", "task_id": "t", "sample_id": f"s{n}", "field": "caller", **said}
            gated._pending.append(("marts.fct_field_values", {"audit_run_id": run, "is_correct": n == 1, **value}))
    gated.written()
    publish(Warehouse(gated.warehouse), runs)
    retain(Warehouse(gated.warehouse), AUDIT, 2)
    publish(Warehouse(gated.warehouse))
    older = gated.warehouse.with_name(f"{gated.warehouse.name}.v4.backup")
    older.write_bytes(gated.warehouse.read_bytes())
    spilled = gated.warehouse.parent / "dbt/spill-999999999-killed"  # of a process that no machine has
    spilled.mkdir(parents=True)
    (spilled / "duckdb_temp_storage_DEFAULT-0.tmp").write_text(SAID)
    return gated


def copied(made: Gated, folder: Path) -> Gated:
    """The same in another folder, for one test to change."""
    copy = Gated(folder, MARTS)
    shutil.copytree(made.warehouse.parent, copy.warehouse.parent, dirs_exist_ok=True)
    return copy


@pytest.fixture
def gated(made: Gated, tmp_path: Path) -> Gated:
    """The nights as they were landed."""
    return copied(made, tmp_path)


@pytest.fixture(scope="module")
def gone(made: Gated, tmp_path_factory: pytest.TempPathFactory) -> tuple[Gated, Erasure]:
    """The nights once s1 is erased, for tests that only look, and what the erasure said."""
    copy = copied(made, tmp_path_factory.mktemp("erased"))
    return copy, erase(Warehouse(copy.warehouse), "s1", reason="asked for")


@pytest.fixture
def erased(gone: tuple[Gated, Erasure], tmp_path: Path) -> Gated:
    """The same, for one test to change."""
    return copied(gone[0], tmp_path)


def holding(folder: Path, text: str) -> set[str]:
    """The files that hold a text, by their bytes or, where they pack them, by their rows."""
    found = set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if text.encode() in path.read_bytes() or json.dumps(text)[1:-1].encode() in path.read_bytes():
            found.add(path.name)
        if path.suffix == ".parquet":
            rows = duckdb.read_parquet(str(path), hive_partitioning=False).fetchall()
            found |= {path.name} if "Quellington" in str(rows) else set()
        elif path.suffix in (".duckdb", ".backup"):
            with duckdb.connect(str(path), read_only=True) as con:
                for (table,) in con.execute(
                    "select table_schema || '.' || table_name from information_schema.tables where table_type = 'BASE TABLE'"
                ).fetchall():
                    ((n,),) = con.execute(
                        f"select count(*) from {table} as t where contains(t::varchar, 'Quellington')"
                    ).fetchall()
                    found |= {f"{path.name}: {table}"} if n else set()
    return found


def test_the_texts_are_in_no_file_any_more(made: Gated, gone: tuple[Gated, Erasure]) -> None:
    folder = made.warehouse.parent
    holders = {"audit.duckdb", "data.parquet", "audit.duckdb.v4.backup", "duckdb_temp_storage_DEFAULT-0.tmp"}
    assert holders <= holding(folder, INPUT) | holding(folder, SAID)
    gated, done = gone
    folder = gated.warehouse.parent
    assert holding(folder, INPUT) == holding(folder, SAID) == set()
    assert len(done.audit_run_ids) == 3
    assert done.n_rows["raw.predictions"] == 3  # p1 of each night
    assert any("what left this folder" in each for each in done.beyond_reach)
    rows = query(gated.warehouse, "select sample_id, input is null, gold_label from raw.samples order by all limit 6")
    assert rows[3:] == [("s1", True, "yes")] * 3
    quoting = query(gated.warehouse, "select distinct prompt from raw.prompt_variants where prompt is not null")
    assert json.loads(quoting[0][0])[0]["content"] == f"As in: {GONE}"


@pytest.mark.parametrize("kind", ["file", pytest.param("postgres", marks=pytest.mark.soak)])
def test_the_texts_are_nowhere_in_a_lake(
    gated: Gated, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = placed_lake(kind, tmp_path, monkeypatch)
    publish(Warehouse(gated.warehouse))
    assert lake.holding("Quellington")

    def written_again(*_: object) -> None:
        assert lake.holding("Quellington") == set()  # before pages, which may fail

    monkeypatch.setattr("promptaudit.audit.erase.erase.write_again", written_again)
    erase(Warehouse(gated.warehouse), "s1")
    assert lake.holding("Quellington") == set()
    assert lake.n_snapshots() == 1
    assert erase(Warehouse(gated.warehouse), "s1").audit_run_ids == ()


def test_figures_and_labels_stay_and_other_samples_too(gone: tuple[Gated, Erasure]) -> None:
    gated, _ = gone
    assert query(gated.warehouse, "select distinct label, completion from marts.fct_predictions") == [("yes", None)]
    assert query(gated.warehouse, "select distinct sensitivity from marts.rpt_audit") == [(0.25,)]
    values = query(
        gated.warehouse, "select distinct is_correct, raw_value, value, gold_value from marts.fct_field_values"
    )
    assert sorted(values) == [(False, f"not {GONE}", None, None), (True, None, None, None)]
    assert query(Warehouse(gated.warehouse).published.path, "select distinct label from marts.fct_predictions") == [
        ("yes",)
    ]
    kept = query(gated.warehouse, "select count(*), count(completion) from raw.predictions where sample_id <> 's1'")
    assert kept == [(6, 6)]  # of the two nights that are not retired


def test_verify_says_erased_and_finds_what_is_altered_afterwards(erased: Gated) -> None:
    found = verify(Warehouse(erased.warehouse))
    assert found.findings == []
    assert {run.state for run in found.runs} == {"erased"}
    assert retired_runs(Warehouse(erased.warehouse)) == {f"{0:032x}"}
    tombs = query(erased.warehouse, "select sample_id, reason, count(*) from raw.erasures group by all")
    assert tombs == [("s1", "asked for", 3)]
    with Warehouse(erased.warehouse).write() as con:
        con.execute("update raw.predictions set completion = 'x' where sample_id = 's1'")
    assert {each.what for each in verify(Warehouse(erased.warehouse)).findings} == {"raw.predictions"}
    with Warehouse(erased.warehouse).write() as con:
        con.execute("delete from raw.erasures")
    assert "raw.erasures" in {each.what for each in verify(Warehouse(erased.warehouse)).findings}


def test_a_run_that_is_cited_has_none_of_the_texts(gone: tuple[Gated, Erasure], tmp_path: Path) -> None:
    warehouse, cited = Warehouse(gone[0].warehouse), Warehouse(tmp_path / "warehouse/audit.duckdb")
    retired, run, _ = (row["audit_run_id"] for row in warehouse.read("from raw.audit_runs order by started_at"))
    copy_run(warehouse, run, cited)
    found = verify(cited, run)
    assert (found.exit_code, [each.state for each in found.runs]) == (0, ["erased"])
    assert not holding(tmp_path, "Quellington")
    with pytest.raises(UsageError, match=f"run {retired} is retired; `promptaudit rebuild {retired} --restore`"):
        _refuse_retired(warehouse, retired)


def test_rows_that_a_newer_version_gave_a_column_are_sealed_as_they_were(gated: Gated) -> None:
    with Warehouse(gated.warehouse).write() as con:
        for table in ("audit_runs", "samples"):
            con.execute(f"alter table raw.{table} add column of_a_newer_version integer default 1")
    for sample in ("s1", "s2"):  # the second refuses what the first one altered
        erase(Warehouse(gated.warehouse), sample)
    assert [each.line for each in verify(Warehouse(gated.warehouse)).findings if each.kind != "unsealed"] == []


def test_erasing_twice_changes_nothing_more(erased: Gated) -> None:
    before = query(erased.warehouse, "select count(*) from raw.seals")
    again = erase(Warehouse(erased.warehouse), "s1")
    assert (again.audit_run_ids, again.n_rows) == ((), {})
    assert query(erased.warehouse, "select count(*) from raw.seals") == before


def test_a_sample_nobody_has_and_a_run_that_still_asks_it(gated: Gated) -> None:
    with pytest.raises(DataError, match=r"no run has a sample 's9'; nearest: s\d|no run has a sample 's9'"):
        erase(Warehouse(gated.warehouse), "s9")
    with Warehouse(gated.warehouse).write() as con:
        con.execute(
            "update raw.audit_runs set state = 'running' where audit_run_id = (select max(audit_run_id) from raw.audit_runs)"
        )
    with pytest.raises(UsageError, match="is not finished"):
        erase(Warehouse(gated.warehouse), "s1")


def test_a_run_that_a_newer_one_has_replaced_is_erased_though_it_was_never_finished(gated: Gated) -> None:
    left, newer = land_night(gated.warehouse, 3, texts=("yes", SAID, "no", "no")), land_night(gated.warehouse, 4)
    with Warehouse(gated.warehouse).write() as con:
        con.execute("update raw.audit_runs set state = 'running', finished_at = null where audit_run_id = ?", [left])
        con.execute(
            "insert into raw.samples select * replace ($left as audit_run_id) from raw.samples "
            "where audit_run_id = (select max(audit_run_id) from raw.samples)",
            {"left": left},
        )
    publish(Warehouse(gated.warehouse), [newer])
    assert left in erase(Warehouse(gated.warehouse), "s1").audit_run_ids
    assert holding(gated.warehouse.parent, INPUT) == set()
    assert query(
        gated.warehouse,
        f"select completion from raw.predictions where prediction_id = 'p1' and audit_run_id = '{left}'",
    ) == [(None,)]
    assert query(gated.warehouse, f"select reason from raw.seals where audit_run_id = '{left}'") == [("erased",)]
    assert verify(Warehouse(gated.warehouse)).exit_code == 0


def test_a_file_that_quotes_it_is_named(gated: Gated) -> None:
    home = gated.warehouse.parent
    by_hand = [home / "lineage/by_hand.jsonl", home / "published/by_hand.html", home / "python/0a/data/samples.jsonl"]
    for path in by_hand:
        path.parent.mkdir(exist_ok=True, parents=True)
    by_hand[2].write_text(json.dumps({"id": "s1", "text": INPUT}))
    by_hand[0].write_text(json.dumps({"note": INPUT}))
    by_hand[1].write_text(f"<p>{escape(INPUT)}</p>")
    done = erase(Warehouse(gated.warehouse), "s1")
    assert holding(home, INPUT) == {"by_hand.jsonl", "samples.jsonl"}
    assert done.still_quoting == tuple(map(str, by_hand))
    assert f"still quotes it, or cannot be read: {by_hand[1]}" in done.lines()
    again = erase(Warehouse(gated.warehouse), "s1")  # there is nothing to look for any more
    assert again.still_quoting is None
    assert any("files were not looked through" in line for line in again.lines())


def test_a_linked_warehouse_is_looked_at_where_it_is(gated: Gated, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere/night.duckdb"
    link.parent.mkdir()
    link.symlink_to(gated.warehouse)
    left = gated.warehouse.with_name("audit.duckdb.left")
    left.write_text(INPUT)
    done = erase(Warehouse(link), "s1")
    assert done.still_quoting == (str(left),)
    assert any(str(Warehouse(gated.warehouse).published.path.parent) in each for each in done.beyond_reach)
    left.unlink()
    shutil.rmtree(Warehouse(gated.warehouse).published.path.parent)
    assert holding(tmp_path, INPUT) == set()  # the backups beside it too


def test_an_erasure_cut_short_is_ended_by_the_next(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    ((run,),) = query(gated.warehouse, "select max(audit_run_id) from raw.audit_runs")
    page = Warehouse(gated.warehouse).places.report(run)
    page.parent.mkdir(exist_ok=True)
    page.write_text(INPUT)

    def killed(*_: object, **__: object) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("promptaudit.audit.erase.erase.publish", killed)
        with pytest.raises(KeyboardInterrupt):
            erase(Warehouse(gated.warehouse), "s1")
    assert not page.exists()  # once the texts are gone nobody would find that it quotes them
    dead = AskerState(machine=machine(), pid=2**22 + 1, began_at=1.0, beat=1)
    write_message(askers_folder(Warehouse(gated.warehouse), None).under(run), f"1/a/{ASKER}", dead)
    said: list[str] = []
    written: list[str] = []
    monkeypatch.setattr("promptaudit.audit.erase.pages.report", lambda _, of: written.append(of))  # made by hand
    erase(Warehouse(gated.warehouse), "s1", say=said.append)
    assert written == [run]  # the page that the interrupted call deleted
    assert said == ["landing what 1 askers of an earlier start have handed over"]
    folder = gated.warehouse.parent
    assert holding(folder, INPUT) == holding(folder, SAID) == set()
    found = verify(Warehouse(gated.warehouse))
    assert found.findings == []
    assert {run.state for run in found.runs} == {"erased"}


def test_what_was_altered_before_is_not_sealed_with_an_erasure(gated: Gated) -> None:
    with Warehouse(gated.warehouse).write() as con:
        con.execute("update raw.predictions set completion = 'forged' where prediction_id = 'p2'")
    with pytest.raises(DataError, match=r"is not as it was sealed .*prediction_id=p2"):
        erase(Warehouse(gated.warehouse), "s1")
    publish(Warehouse(gated.warehouse), erased={f"{2:032x}"})  # by somebody who knows how
    details = {each.detail for each in verify(Warehouse(gated.warehouse)).findings}
    assert "it was sealed again, but not as an erasure leaves it" in details


def test_an_archive_that_was_restored_keeps_no_text(gated: Gated) -> None:
    restore(Warehouse(gated.warehouse), f"{0:032x}")
    publish(Warehouse(gated.warehouse))
    erase(Warehouse(gated.warehouse), "s1")
    assert holding(gated.warehouse.parent, SAID) == set()
    assert {run.state for run in verify(Warehouse(gated.warehouse)).runs} == {"erased"}
