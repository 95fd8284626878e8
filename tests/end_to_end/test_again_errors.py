"""Cells that landed as errors are asked again by the same run, and nothing that had landed is lost, altered or asked anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from promptaudit.evidence.retain import restore, retain
from promptaudit.marts.publish import publish
from promptaudit.warehouse import Warehouse
from tests.support.http_audit import query, write_cards
from tests.support.loopback import LABELS, QuietHandler, completion_of, last_user, served_in_threads
from tests.support.shell import Ended, promptaudit, sql

pytestmark = pytest.mark.slow

ROWS = "select * from raw.predictions order by prediction_id"
ERRORS = "select * from raw.predictions where error is not null order by prediction_id"
FAILED = "select * from raw.failed_predictions order by prediction_id, landed_at"


class Provider(QuietHandler):
    """Refuses prompts that hold one of `refused` with a 400, and answers all others with a label."""

    refused: ClassVar[list[str]] = []
    asked_for: ClassVar[list[str]] = []

    def answer(self) -> None:
        body = self.asked()
        prompt = last_user(body)
        self.asked_for.append(prompt)
        if not any(text in prompt for text in self.refused):
            self.send_json(completion_of(LABELS[len(prompt) % len(LABELS)]))
            return
        content = json.dumps(
            {"error": {"message": "Invalid control character in the message.", "code": "invalid_request"}}
        )
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """A folder whose run has answers to three of five samples, and the port of the provider."""
    folder = tmp_path_factory.mktemp("measured")
    with served_in_threads(Provider) as port:
        Provider.refused[:] = ["number 1?", "number 3?"]
        write_cards(folder / "cards", f"http://127.0.0.1:{port}/v1", n_samples=5, variants=2)
        audit = folder / "cards/audits/asked.yml"
        audit.write_text(audit.read_text().replace("format: {", "format: {max_error_rate: 0.5, "))
        ended = run(folder)
        assert ended.code == 0, ended.err
        yield folder, port


@pytest.fixture
def folder(measured: tuple[Path, int], tmp_path: Path) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(measured[0], copy)
    Provider.refused.clear()
    Provider.asked_for.clear()
    return copy


def run(folder: Path, *options: str) -> Ended:
    return promptaudit(folder, "run", "asked", "--registry", "cards", *options, AUDIT_KEY="sk-0123456789abcdef")


def rows(folder: Path, text: str) -> list[tuple[object, ...]]:
    return query(folder / "warehouse/audit.duckdb", text)


def untouched(folder: Path, *options: str) -> None:
    ended = promptaudit(folder, "verify", *options)
    assert ended.code == 0, ended.out + ended.err


def test_just_the_errors_are_asked_again(folder: Path) -> None:
    errors = rows(folder, ERRORS)
    kept = [row for row in rows(folder, ROWS) if row not in errors]
    assert len(errors) == 4
    seal = rows(folder, "select seal from raw.seals order by seal_index desc")[0][0]
    untouched(folder)
    ended = run(folder, "--again-errors")
    assert ended.code == 0, ended.err
    assert "4 cells that landed as errors are asked again" in ended.err
    assert "4 cells asked" in ended.out
    assert len(Provider.asked_for) == len(set(Provider.asked_for)) == 4
    assert all("number 1?" in text or "number 3?" in text for text in Provider.asked_for)
    assert rows(folder, FAILED) == errors
    landed = rows(folder, ROWS)
    assert [row for row in landed if row in kept] == kept
    assert [row[1] for row in landed if row not in kept] == [row[1] for row in errors]
    assert sql(folder, "select count(*) as n from marts.fct_predictions where answer_status = 'error'") == [{"n": 0}]
    assert rows(folder, "select count(*), min(state) from raw.audit_runs") == [(1, "complete")]
    untouched(folder)
    since = promptaudit(folder, "verify", "--seal", str(seal))
    assert (since.code, {line.partition(":")[0] for line in since.out.splitlines()} & {"changed", "gone"}) == (3, set())
    assert "4 rows of raw.failed_predictions landed" in since.out
    assert promptaudit(folder, "cite", "--to", "cited").code == 0
    untouched(folder, "cited")

    Provider.asked_for.clear()
    again = run(folder, "--again-errors")
    assert again.code == 0
    assert "has no errors: nothing asked" in again.out
    assert not Provider.asked_for
    untouched(folder)


def test_what_fails_again_is_kept_beside_what_failed_first(folder: Path) -> None:
    Provider.refused[:] = ["number 3?"]
    first = rows(folder, ERRORS)
    assert run(folder, "--again-errors", "--answers-only").code == 0
    assert len(rows(folder, ERRORS)) == 2
    found = promptaudit(folder, "verify")
    assert "is running again" in found.out
    assert {"gone", "changed", "added"}.isdisjoint(found.out.split())
    assert run(folder).code == 0
    untouched(folder)
    Provider.refused.clear()
    Provider.asked_for.clear()
    second = rows(folder, ERRORS)
    assert run(folder, "--again-errors").code == 0
    assert len(Provider.asked_for) == 2
    assert sorted(rows(folder, FAILED)) == sorted([*first, *second])
    untouched(folder)


def test_a_kept_error_that_is_altered_or_removed_is_found(folder: Path) -> None:
    assert run(folder, "--again-errors").code == 0
    for statement in ("update raw.failed_predictions set error = 'x'", "delete from raw.failed_predictions"):
        rows(folder, statement)
        found = promptaudit(folder, "verify")
        assert found.code == 1
        assert "raw.failed_predictions" in found.out


def test_kept_errors_retire_with_their_night(folder: Path) -> None:
    assert run(folder, "--again-errors").code == 0
    errors = rows(folder, FAILED)
    assert run(folder, "--new").code == 0
    warehouse = Warehouse(folder / "warehouse/audit.duckdb")
    (retired,) = retain(warehouse, "asked", 1)
    assert rows(folder, FAILED) == []
    publish(warehouse)
    untouched(folder)
    archive = warehouse.places.archive / f"failed_predictions/audit_run_id={retired.audit_run_id}/data.parquet"
    assert len(pl.read_parquet(archive)) == len(errors) == 4
    restore(warehouse, retired.audit_run_id)
    assert rows(folder, FAILED) == errors
    untouched(folder)


def test_an_erased_sample_is_not_asked_again_and_its_kept_error_is_erased(folder: Path) -> None:
    samples = [row[0] for row in rows(folder, "select distinct sample_id from raw.predictions where error is not null")]
    assert promptaudit(folder, "erase", "--sample", str(samples[0])).code == 0
    assert run(folder, "--again-errors").code == 0
    assert len(Provider.asked_for) == 2
    ended = promptaudit(folder, "erase", "--sample", str(samples[1]))
    assert ended.code == 0, ended.err
    assert rows(folder, "select distinct error from raw.failed_predictions") == [("[erased]",)]
    untouched(folder)


def test_a_run_that_failed_for_its_errors_is_completed(folder: Path) -> None:
    audit = folder / "cards/audits/asked.yml"
    audit.write_text(audit.read_text().replace("max_error_rate: 0.5", "max_error_rate: 0.1"))
    Provider.refused[:] = ["number 1?", "number 3?"]
    failed = run(folder, "--new")
    assert failed.code == 3
    assert "error rate 0.4, allowed 0.1" in failed.one_line()
    Provider.refused.clear()
    Provider.asked_for.clear()
    assert run(folder, "--again-errors").code == 0
    assert len(Provider.asked_for) == 4
    assert rows(folder, "select distinct state from raw.audit_runs") == [("complete",)]
    untouched(folder)


def test_a_run_is_needed_and_no_new_one(folder: Path) -> None:
    both = run(folder, "--again-errors", "--new")
    assert (both.code, both.one_line()[:42]) == (2, "UsageError: --again-errors goes on with a ")
    audit = folder / "cards/audits/asked.yml"
    audit.write_text(audit.read_text().replace("variants: 2", "variants: 1", 1))
    other = run(folder, "--again-errors")
    assert other.code == 2
    assert "no run of 'asked' asks what its cards ask now" in other.one_line()
    assert not Provider.asked_for


def test_without_a_budget_for_them_nothing_is_opened(folder: Path) -> None:
    ended = run(folder, "--again-errors", "--max-requests", "1")
    assert ended.code == 4, ended.out + ended.err
    assert (len(rows(folder, ERRORS)), rows(folder, FAILED), Provider.asked_for) == (4, [], [])
    assert "nothing asked" in run(folder).out
    untouched(folder)
