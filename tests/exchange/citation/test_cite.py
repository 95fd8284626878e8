"""A cited run is a folder that verifies where no warehouse is, and that is refused after any change."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pytest

from promptaudit.evidence.verify import VerifyResult
from promptaudit.exchange.citation.cite import CiteResult, cite
from promptaudit.exchange.citation.files import CHECKSUMS, checksum_lines, checksums, warehouse_of
from promptaudit.exchange.citation.methods import cited, methods
from promptaudit.exchange.citation.verify_folder import verify_folder
from promptaudit.registry.errors import MeasureError, PromptauditError, UsageError, WarehouseError
from promptaudit.warehouse import Warehouse
from tests.report.conftest import NAMES, built
from tests.support.prebuilt_folders import shape
from tests.support.shell import promptaudit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, dict[str, str]]:
    folder = tmp_path_factory.mktemp("runs")
    ids = shape("reported", built, folder)
    return Warehouse(folder / "audit.duckdb"), dict(zip(NAMES, ids, strict=True))


@pytest.fixture(scope="module")
def folder(runs: tuple[Warehouse, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> CiteResult:
    warehouse, ids = runs
    return cite(warehouse, ids["ordinary"], tmp_path_factory.mktemp("cited") / "appendix")


@pytest.fixture
def copied(folder: CiteResult, tmp_path: Path) -> Path:
    return shutil.copytree(folder.path, tmp_path / "appendix")


def findings_of(result: VerifyResult) -> list[tuple[str, str, str]]:
    return [(each.kind, each.what, each.which) for each in result.findings]


def listed_anew(folder: Path) -> None:
    (folder / CHECKSUMS).write_text(checksum_lines(checksums(folder)))


def test_a_folder_verifies_where_no_warehouse_is(copied: Path, folder: CiteResult) -> None:
    for line in (copied / CHECKSUMS).read_text().splitlines():
        sha256, name = line.split("  ")
        assert hashlib.sha256((copied / name).read_bytes()).hexdigest() == sha256
    ended = promptaudit(copied.parent, "verify", "appendix", "--seal", folder.seal)
    assert ended.code == 0, ended.err
    assert [path.name for path in copied.parent.iterdir()] == ["appendix"]
    inside = promptaudit(copied, "verify", folder.audit_run_id)
    assert inside.code == 0, inside.err
    assert verify_folder(copied).exit_code == 0  # the lock that the command left is no file of anybody's


def test_a_folder_has_one_run_alone(runs: tuple[Warehouse, dict[str, str]], folder: CiteResult) -> None:
    warehouse, ids = runs
    whole, own = warehouse.published.path.read_bytes(), warehouse_of(folder.path).published.path.read_bytes()
    assert b"onerror=alert" in whole
    assert b"onerror=alert" not in own
    query = "select distinct audit_run_id from raw.predictions union select audit_run_id from marts.fct_predictions"
    assert warehouse_of(folder.path).published.read(query) == [{"audit_run_id": ids["ordinary"]}]
    answers = pl.read_parquet(folder.path / "answers/predictions.parquet")
    of_run = "select prediction_id, completion from raw.predictions where audit_run_id = $run order by prediction_id"
    landed = warehouse.published.frame(of_run, run=ids["ordinary"])
    assert answers.select("prediction_id", "completion").sort("prediction_id").equals(landed)
    assert folder.n_answers == landed.height


def test_the_methods_have_every_figure_with_its_interval(
    runs: tuple[Warehouse, dict[str, str]], folder: CiteResult
) -> None:
    warehouse, ids = runs
    text = folder.methods.read_text()
    rows = warehouse.published.read(
        "select pss_inter, pss_inter_low, pss_inter_high from marts.rpt_audit where audit_run_id = $run and task_id = 'colours'",
        run=ids["ordinary"],
    )
    assert len(rows) == 6
    for row in rows:
        assert "{pss_inter:.3f} [{pss_inter_low:.3f}, {pss_inter_high:.3f}]".format(**row) in text
    assert "Sensitivity, Consistency and micro-F1 by Errica et al. 2025" in text
    assert "`colours` (classification, nominal, 4 labels, 24 samples)" in text
    assert "the paraphrase temperatures 0.5, 1 and 2" in text
    assert "200 resamples where they are bootstrapped; the seed of resamples is 20250601" in text
    assert folder.seal in text
    judged = methods(cited(partial(warehouse.published.read, run=ids["judged"])))
    assert re.search(r"Answers were put before \d judges: `\w+`", judged)
    assert "## Accuracy over templates (Hua et al. 2025)" in judged


def test_a_changed_byte_is_told_with_its_file(copied: Path) -> None:
    for name in (CHECKSUMS, *checksums(copied)):
        content = (copied / name).read_bytes()
        place = len(content) // 2
        (copied / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        found = verify_folder(copied)
        assert found.exit_code == 1
        if name != CHECKSUMS:  # of which a line no longer is its file's
            assert findings_of(found) == [("changed", "file", name)]
        (copied / name).write_bytes(content)


def test_files_that_come_and_go_are_told(copied: Path) -> None:
    (copied / "methods.md").unlink()
    (copied / "data/more.csv").write_text("a,b\n")
    (copied / "cards/tasks.json").rename(copied / "tasks.json")
    (copied / "cards/tasks.json").symlink_to("../tasks.json")
    assert findings_of(verify_folder(copied)) == [
        ("changed", "file", "cards/tasks.json"),
        ("added", "file", "data/more.csv"),
        ("gone", "file", "methods.md"),
        ("added", "file", "tasks.json"),
    ]


def test_a_changed_file_with_its_checksum_is_not_what_the_rows_say(copied: Path) -> None:
    text = (copied / "methods.md").read_text()
    (copied / "methods.md").write_text(text.replace("We measured", "We hardly measured"))
    listed_anew(copied)
    assert findings_of(verify_folder(copied)) == [("changed", "file", "methods.md")]
    manifest = re.sub('"code": "[0-9a-f]*"', '"code": "0"', (copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(manifest)
    listed_anew(copied)
    found = verify_folder(copied)
    assert found.exit_code == 3
    assert findings_of(found) == [("unsealed", "file", "manifest.json"), ("unsealed", "file", "methods.md")]


def test_what_was_put_beside_the_copy_is_told(copied: Path) -> None:
    (copied / "warehouse/published/audit.duckdb.wal").touch()
    (copied / "warehouse/published/report.html").write_text("<p>Sensitivity 0.0</p>")
    listed_anew(copied)
    assert findings_of(verify_folder(copied)) == [
        ("changed", "file", "warehouse/published/audit.duckdb.wal"),
        ("changed", "file", "warehouse/published/report.html"),
    ]


def test_a_changed_row_is_not_what_was_sealed(copied: Path, folder: CiteResult) -> None:
    with Warehouse(warehouse_of(copied).published.path).write() as con:
        con.execute("update raw.predictions set completion = 'red' where completion = 'green'")
    listed_anew(copied)
    found = verify_folder(copied)
    assert found.exit_code == 1
    assert {(each.kind, each.what) for each in found.findings} == {("changed", "raw.predictions")}
    with Warehouse(warehouse_of(copied).published.path).write() as con:
        con.execute("insert into raw.reports values ('another', 'abc', 'report.html', now()::timestamp)")
    listed_anew(copied)
    assert "rows of 2 runs" in verify_folder(copied).findings[0].detail
    assert verify_folder(folder.path, seal="0" * 64).exit_code == 1  # another history


def test_a_macro_stands_in_for_no_function_that_verifies(copied: Path, folder: CiteResult) -> None:
    path = warehouse_of(copied).published.path
    with duckdb.connect(path) as con:
        con.execute("create macro main.sha256(x) as system.main.sha256(replace(x, 'red', 'green'))")
        con.execute("create macro main.duckdb_functions() as table select 1 as internal where false")
    listed_anew(copied)
    refused(lambda: verify_folder(copied, seal=folder.seal), WarehouseError, "has the macro main.sha256")


def test_a_lock_holds_nothing_and_a_deep_manifest_is_no_defect(copied: Path) -> None:
    (copied / "warehouse/audit.duckdb.lock").write_text("a text")
    listed_anew(copied)
    assert findings_of(verify_folder(copied)) == [("changed", "file", "warehouse/audit.duckdb.lock")]
    (copied / "manifest.json").write_text("[" * 100_000)
    listed_anew(copied)
    assert {kind for kind, _, _ in findings_of(verify_folder(copied))} == {"unsealed"}


def test_what_the_folder_verifies_is_what_lies_beside_it(copied: Path) -> None:
    ended = promptaudit(copied.parent, "verify", str(copied / "cards"))
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"no folder that `promptaudit cite` wrote: it has no {CHECKSUMS}" in ended.err


def test_names_of_others_are_no_markup(runs: tuple[Warehouse, dict[str, str]]) -> None:
    warehouse, ids = runs
    text = methods(cited(partial(warehouse.published.read, run=ids["hostile"])))
    assert "<script>" in text
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not set("<>{}\x00\x1b\u202e") & set(outside)
    assert "javascript:" not in outside


def refused(call: Callable[[], object], kind: type[PromptauditError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_what_cannot_be_cited_is_refused_in_a_line(
    runs: tuple[Warehouse, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse, ids = runs
    monkeypatch.chdir(tmp_path)
    refused(lambda: cite(warehouse, "ordinry"), UsageError, "no complete run is 'ordinry'")
    refused(lambda: cite(warehouse, f"{ids['ordinary']}:harbour-small"), UsageError, "without 'harbour-small'")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/note.txt").touch()
    refused(lambda: cite(warehouse, "latest", tmp_path / "full"), UsageError, "holds files already")
    refused(lambda: cite(warehouse, "latest", text="excerpt"), UsageError, "--text excerpt", "full")
    shutil.copytree(warehouse.path.parent, tmp_path / "own")
    own = Warehouse(tmp_path / "own/audit.duckdb")
    with Warehouse(own.published.path).write() as con:
        con.execute("update marts.dim_audit_runs set state = 'failed' where audit_run_id = ?", [ids["judged"]])
        con.execute("update marts.dim_tasks set is_sensitive = true where task_id = 'moods'")
        con.execute("delete from raw.samples where sample_id = 'c001'")
    refused(lambda: cite(own, ids["judged"]), MeasureError, "is failed")
    refused(lambda: cite(own, ids["ordinary"]), UsageError, "task 'moods' is sensitive", "--text full")
    refused(lambda: cite(own, ids["ordinary"], text="full"), WarehouseError, "is not as it was sealed", "gone: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "own"]
