"""A process is killed at each border between two steps of a publication; the next ordinary start completes it."""

from __future__ import annotations

import csv
import errno
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import psutil
import pytest

from tests.support.http_audit import query
from tests.support.prefect_server import wait_for
from tests.support.shell import promptaudit, sql
from tests.support.stopped_at import started, stopped

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
soak = pytest.mark.soak

AUDIT = """\
small:
  tasks: [question_type]
  models: [lexical]
  rephrasing: {rephraser: rules, variants: 2}
  samples: {limit: 4}
  resamples: 20
"""
BORDERS = (
    pytest.param("call seal_runs", marks=soak),
    "rename published/marts/fct_p_tau",
    "rename published/audit.duckdb",
    pytest.param("rename published/traces/", marks=soak),
    pytest.param("rename published/reports/.*formats", marks=soak),
    "rename published/reports/[0-9a-f]*.html",
    pytest.param("rename published/report.html", marks=soak),
    pytest.param("call record", marks=soak),
    "call end",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an audit that has run once, and a file to import."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "registry/audits").mkdir(parents=True)
    (folder / "registry/audits/small.yml").write_text(AUDIT)
    with (folder / "answers.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "sample_id", "variant_index", "completion", "gold_label"])
        rows.writerows(["m", f"s{n}", w, "yn"[(n + w) % 2], "y"] for n in range(6) for w in range(2))
    assert promptaudit(folder, "run", "small").code == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """The same in another folder, for one test to change."""
    return Path(shutil.copytree(made, tmp_path / "own"))


IMPORT = ("import", "answers.csv", "--labels", "y,n", "--audit", "recorded")


def newest(folder: Path) -> str:
    rows = query(folder / "warehouse/audit.duckdb", "select arg_max(audit_run_id, started_at) from raw.audit_runs")
    return str(rows[0][0])


def is_whole(folder: Path, run: str) -> None:
    """Checks that everything verifies, that the run's page is there, and that nothing half done is left."""
    verified = promptaudit(folder, "verify")
    assert (verified.code, "interrupted" in verified.out) == (0, False), verified.out
    published = folder / "warehouse/published"
    assert (published / f"reports/{run}.html").is_file()
    assert list(published.glob(f"traces/{run}/*.html"))
    assert [
        path for path in published.rglob("*") if path.suffix == ".new" or (path.is_dir() and not any(path.iterdir()))
    ] == []
    assert sql(folder, f"select count(*) as n from marts.rpt_audit where audit_run_id = '{run}'")[0]["n"] > 0
    assert query(folder / "warehouse/audit.duckdb", "select distinct state from raw.audit_runs") == [("complete",)]


@pytest.mark.parametrize("border", BORDERS)
def test_a_run_killed_at_a_border_is_completed_by_the_next(folder: Path, border: str) -> None:
    assert stopped(folder, "SIGKILL", border, "run", "small", "--new").returncode == -9
    run = newest(folder)
    verified = promptaudit(folder, "verify")
    assert verified.code == 3, verified.out
    assert f"it was interrupted; `promptaudit report {run}` completes it" in verified.out
    assert not {"broken", "changed", "gone", "added"} & {line.partition(":")[0] for line in verified.out.splitlines()}
    assert promptaudit(folder, "report", run).code == 0
    is_whole(folder, run)
    seals = query(
        folder / "warehouse/audit.duckdb",
        f"select reason from raw.seals where audit_run_id = '{run}' order by seal_index",
    )
    assert [reason for (reason,) in seals][:2] == ["complete", "landed"]  # sealed once, then its pages


@pytest.mark.parametrize(
    "border", ["rename published/audit.duckdb", pytest.param("rename published/report.html", marks=soak)]
)
def test_a_night_killed_at_a_border_goes_on(folder: Path, border: str) -> None:
    assert stopped(folder, "SIGKILL", border, "nightly", "small").returncode == -9
    assert "interrupted" in promptaudit(folder, "verify").out
    assert promptaudit(folder, "nightly", "small").code == 0
    is_whole(folder, newest(folder))


@soak
def test_a_night_that_waited_for_one_that_was_killed_completes_it(folder: Path) -> None:
    with started(folder, "SIGSTOP", "rename published/audit.duckdb", "nightly", "small") as first:
        wait_for(lambda: psutil.Process(first.pid).status() == psutil.STATUS_STOPPED, "the first night to stop")
        held = newest(folder)
        with started(folder, "list", "", "nightly", "small") as second:
            assert second.stderr is not None
            assert any(f"process {first.pid}" in line for line in second.stderr)  # whom it waits for
            first.kill()
            _, err = second.communicate(timeout=240)
            assert second.returncode == 0, err
    assert newest(folder) == held  # the night was asked once
    is_whole(folder, held)


@pytest.mark.parametrize(
    ("border", "is_completed"),
    [
        ("rename published/audit.duckdb", True),
        pytest.param("rename published/reports/[0-9a-f]*.html", False, marks=soak),
    ],
)
def test_a_pin_between_leaves_nothing_that_differs(folder: Path, border: str, is_completed: bool) -> None:
    assert stopped(folder, "SIGKILL", border, "nightly", "small").returncode == -9
    assert promptaudit(folder, "pin", "latest", "kept").code == 0  # its copy has what was due; pages stay due
    verified = promptaudit(folder, "verify")
    assert (verified.code, "interrupted" in verified.out) == ((0, False) if is_completed else (3, True)), verified.out
    assert promptaudit(folder, "nightly", "small").code == 0
    is_whole(folder, newest(folder))


@pytest.mark.parametrize("border", ["call close_run", pytest.param("rename published/audit.duckdb", marks=soak)])
def test_an_import_killed_at_a_border_is_closed(folder: Path, border: str) -> None:
    assert stopped(folder, "SIGKILL", border, *IMPORT).returncode == -9
    assert promptaudit(folder, "run", "small").code == 0
    states = query(folder / "warehouse/audit.duckdb", "select state from raw.audit_runs where origin = 'import'")
    assert states == [("failed" if border.startswith("call") else "complete",)]
    assert promptaudit(folder, *IMPORT).code == 0
    is_whole(folder, newest(folder))


@pytest.mark.parametrize("border", ["rename published/reports/", pytest.param("call record", marks=soak)])
def test_a_report_killed_at_a_border_is_written_by_another_start(folder: Path, border: str) -> None:
    run = newest(folder)
    assert stopped(folder, "SIGKILL", border, "report", run, "--text", "none").returncode == -9
    assert promptaudit(folder, *IMPORT).code == 0
    is_whole(folder, run)


@pytest.mark.parametrize(
    "border",
    [
        pytest.param("remove published/traces", marks=soak),
        "remove published/report.html",
        "rename audit.duckdb$",
        pytest.param("call seal_runs", marks=soak),
        pytest.param("rename published/audit.duckdb", marks=soak),
        "rename published/reports/",
    ],
)
def test_an_erasure_killed_at_a_border_writes_no_page_until_it_is_run_again(folder: Path, border: str) -> None:
    run = newest(folder)
    ((sample, text),) = query(
        folder / "warehouse/audit.duckdb", "select sample_id, input from raw.samples order by sample_id limit 1"
    )
    page = folder / f"warehouse/published/reports/{run}.html"
    assert stopped(folder, "SIGKILL", border, "erase", "--sample", sample).returncode == -9
    was_there = page.exists()
    verified = promptaudit(folder, "verify")
    assert verified.code == 3, verified.out
    assert f"it was interrupted; `promptaudit erase --sample={sample}` completes it" in verified.out
    # what is altered meanwhile is no part of it
    with duckdb.connect(str(folder / "warehouse/audit.duckdb")) as con:
        other = "sample_id != $sample and repetition = 1 and variant_index = 0"
        ((prediction, said),) = con.execute(
            "select prediction_id, completion from raw.predictions inner join raw.prompt_variants using (audit_run_id, "
            f"prompt_variant_id) where {other} order by all limit 1",
            {"sample": sample},
        ).fetchall()
        altered = "update raw.predictions set completion = ? where prediction_id = ?"
        con.execute(altered, ["otherwise", prediction])
    found = promptaudit(folder, "verify")
    assert found.code == 1, found.out
    assert f"changed: raw.predictions prediction_id={prediction}" in found.out
    with duckdb.connect(str(folder / "warehouse/audit.duckdb")) as con:
        con.execute(altered, [said, prediction])
    again = promptaudit(folder, "run", "small")
    assert (again.code, page.exists()) == (0, was_there)
    refused = promptaudit(folder, "report", run)
    assert refused.code == 2
    assert f"`promptaudit erase --sample={sample}` completes it first" in refused.one_line()
    assert promptaudit(folder, "erase", "--sample", sample).code == 0
    is_whole(folder, run)
    holding = [
        path for path in (folder / "warehouse").rglob("*") if path.is_file() and text.encode() in path.read_bytes()
    ]
    assert holding == []


@pytest.mark.parametrize(
    ("first", "again"),
    [((), ("--task", "question_type")), (("--task", "question_type"), ())],
    ids=["then of its task", "of a task, then of all"],
)
def test_an_erasure_is_completed_by_one_that_does_as_much(
    folder: Path, first: tuple[str, ...], again: tuple[str, ...]
) -> None:
    ((sample,),) = query(folder / "warehouse/audit.duckdb", "select min(sample_id) from raw.samples")
    erase = ("erase", "--sample", sample)
    assert stopped(folder, "SIGKILL", "rename published/audit.duckdb", *erase, *first).returncode == -9
    assert "it was interrupted" in promptaudit(folder, "verify").out
    assert promptaudit(folder, *erase, *again).code == 0
    is_whole(folder, newest(folder))


def test_a_terminated_process_and_a_copied_warehouse_are_completed(folder: Path, tmp_path: Path) -> None:
    ended = stopped(folder, "SIGTERM", "rename published/reports/", "run", "small", "--new")
    assert ended.returncode == 130, ended.stderr
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    for place in (folder, other):
        assert promptaudit(place, "run", "small").code == 0
        is_whole(place, newest(place))


@pytest.mark.parametrize(
    ("options", "code"),
    [("size=1m", errno.ENOSPC), pytest.param("ro", errno.EROFS, marks=soak)],
    ids=["full", "read-only"],
)
def test_a_disk_that_takes_nothing_is_one_line_and_the_next_start_completes_it(
    folder: Path, options: str, code: int
) -> None:
    place, kept = folder / "warehouse/published", folder / "kept"
    place.rename(kept)
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    command = [mount or "mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if mount is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        failed = promptaudit(folder, "run", "small", "--new")
    finally:
        subprocess.run([umount or "umount", str(place)], check=True)
    assert failed.code not in (0, 1)
    assert os.strerror(code) in failed.one_line() or "the disk is full" in failed.one_line(), failed.err
    place.rmdir()
    kept.rename(place)
    assert promptaudit(folder, "run", "small").code == 0
    is_whole(folder, newest(folder))
