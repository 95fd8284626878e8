"""What is in the spool outlives the process, lands once, and names the line that cannot be landed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptaudit.system.keys import prediction_id, verdict_id
from promptaudit.warehouse import Warehouse
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.segments import replay
from promptaudit.warehouse.spool import land_segment, read_spooled, spool_of
from tests.support.http_audit import query

ROOT = Path(__file__).parents[2]
RUN = "0" * 32


def prediction(number: int, completion: str | None = "yes") -> dict[str, object]:
    cell = {"model_id": "m", "prompt_variant_id": "v", "sample_id": f"s{number}", "repetition": 1}
    return cell | {
        "audit_run_id": RUN,
        "prediction_id": prediction_id(RUN, "m", "v", f"s{number}", 1, "f" * 64),
        "task_id": "t",
        "completion": completion,
        "is_completion_escaped": False,
        "is_refused": False,
        "n_attempts": 1,
        "request_sha256": "f" * 64,
        "latency_ms": 0.1 + 0.2,
        "landed_at": datetime(2025, 11, 21, 3, 4, 5, 678901),
    }


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse with a run that asks 100 samples once."""
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    run = {
        "audit_id": "a",
        "origin": "run",
        "state": "running",
        "started_at": datetime(2025, 1, 1),
        "fingerprint": "f",
        "plan_fingerprint": "f",
        "card": "{}",
        "format_limits": "{}",
        "seed": 1,
        "n_resamples": 1,
        "code_version": "0",
        "library_versions": "{}",
        "manifest": "{}",
    }
    variant = {
        "prompt_variant_id": "v",
        "task_id": "t",
        "strategy": "simple",
        "variant_index": 0,
        "is_original": True,
        "is_edited": False,
        "instruction": "i",
        "output_format": "o",
        "prompt": "p",
        "repetitions": [1],
    }
    rows: dict[str, list[dict[str, object]]] = {
        "audit_runs": [run],
        "prompt_variants": [variant],
        "models": [{"model_id": "m", "engine": "e", "model": "m", "card": "{}", "fingerprint": "f"}],
        "samples": [
            {"task_id": "t", "sample_id": f"s{n}", "sample_index": n, "input": "i", "fields": "{}"} for n in range(100)
        ],
    }
    Warehouse(path).land([(t, frame_of(t, [{"audit_run_id": RUN} | row for row in of])) for t, of in rows.items()])
    return path


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=40))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    spool = spool_of(Warehouse(tmp_path_factory.mktemp("spool") / "audit.duckdb"), RUN)
    spool.append("predictions", prediction(1, text))
    (path,) = spool.turn()
    (row,) = read_spooled(path).to_dicts()
    expected = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert row["completion"] == expected
    assert row["landed_at"] == datetime(2025, 11, 21, 3, 4, 5, 678901)
    assert row["latency_ms"] == 0.1 + 0.2
    assert row["cost_usd"] is None


def test_times_are_kept_in_utc(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    east = datetime(2025, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    spool.append(
        "attempts", {"audit_run_id": RUN, "prediction_id": "p", "attempted_at": east, "error": "x", "waited_ms": 0}
    )
    land_segment(Warehouse(warehouse), spool.turn())
    assert query(warehouse, "select attempted_at from raw.attempts") == [(datetime(2025, 1, 1),)]


def test_landing_twice_adds_nothing_and_leaves_no_file(warehouse: Path) -> None:
    for numbers in ((1, 2), (2, 3)):
        spool = spool_of(Warehouse(warehouse), RUN)
        for number in numbers:
            spool.append("predictions", prediction(number))
        spool.turn()
    assert replay(Warehouse(warehouse)) == 4
    assert query(warehouse, "select list(sample_id order by sample_id) from raw.predictions") == [(["s1", "s2", "s3"],)]
    assert not Warehouse(warehouse).places.spool.exists()
    assert replay(Warehouse(warehouse)) == 0


def test_a_row_that_was_cut_off_is_left_out(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    spool.append("predictions", prediction(1))
    spool.append("predictions", prediction(2, "é" * 100))
    (path,) = spool.turn()
    path.write_bytes(path.read_bytes()[:-30])
    assert replay(Warehouse(warehouse)) == 1
    assert query(warehouse, "select sample_id from raw.predictions") == [("s1",)]


def test_what_is_not_of_the_run_is_set_aside_and_named(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    spool.append("predictions", prediction(1))
    (path,) = spool.turn()
    good, run = path.read_bytes(), path.parent
    (run / "00000002.predictions.jsonl").write_bytes(good + b"\x00\x00 no row\n")
    (run / "00000003.audit_runs.jsonl").write_text(json.dumps({"audit_run_id": "forged"}) + "\n")
    os.mkfifo(run / "00000004.verdicts.jsonl")
    (run / "00000005.attempts.jsonl").write_bytes(b'{"audit_run_id":' + b"[" * 3000 + b"\n")
    (run.parent / "forged").mkdir()
    (run.parent / "forged" / "00000001.predictions.jsonl").write_bytes(good.replace(RUN.encode(), b"forged"))
    said: list[str] = []
    assert replay(Warehouse(warehouse), said.append) == 1
    assert query(warehouse, "select sample_id from raw.predictions") == [("s1",)]
    assert query(warehouse, "select audit_run_id from raw.audit_runs") == [(RUN,)]
    assert [line.removeprefix(f"set aside, not landed: {run.parent}.aside/").partition(": ")[::2] for line in said] == [
        (f"{RUN}/00000002.predictions.jsonl", "line 2: no row that can be landed"),
        (f"{RUN}/00000003.audit_runs.jsonl", "no process hands over rows of 'audit_runs'"),
        (f"{RUN}/00000004.verdicts.jsonl", "no regular file of at most 250,000,000 bytes"),
        (f"{RUN}/00000005.attempts.jsonl", "line 1: no row that can be landed"),
        ("forged/00000001.predictions.jsonl", "is of run forged, which this warehouse does not have"),
    ]
    assert not run.parent.exists()


def test_verdicts_are_of_judges_answers_and_controls_of_the_run(warehouse: Path) -> None:
    judge = {
        "judge_id": "j",
        "judge_key": "k",
        "model_id": "m",
        "repetitions": 1,
        "max_asks": 1,
        "card": "{}",
        "model_card": "{}",
        "recorded_at": datetime(2025, 1, 1),
    }
    control = {
        "control_id": "c",
        "task_id": "t",
        "sample_id": "s1",
        "kind": "gold",
        "completion": "x",
        "is_match": True,
    }
    wording = {
        "prompt_variant_id": "w",
        "task_id": "t",
        "strategy": "simple",
        "variant_index": 1,
        "is_original": False,
        "is_edited": False,
        "repetitions": [1],
    }
    tables = {"judges": judge, "judge_controls": control, "predictions": prediction(1), "prompt_variants": wording}
    Warehouse(warehouse).land([(t, frame_of(t, [{"audit_run_id": RUN} | row])) for t, row in tables.items()])
    of_answer = {"prediction_id": prediction(1)["prediction_id"]}
    rulings: list[dict[str, object]] = [
        {"judge_id": "j", "control_id": "c"},
        {"judge_id": "j"} | of_answer,
        {"judge_id": "j", "prompt_variant_id": "w"},
        {"judge_id": "j", "other_prediction_id": of_answer["prediction_id"]} | of_answer,
        {"judge_id": "j", "prompt_variant_id": "other"},
        {"judge_id": "j", "other_prediction_id": "other"} | of_answer,
        {"judge_id": "other", "control_id": "c"},
        {"judge_id": "j", "control_id": "other"},
        {"judge_id": "j", "prediction_id": "other"},
        {"judge_id": "j", "control_id": "c", "verdict_id": "other"},
    ]
    for ruling in rulings:
        spool = spool_of(Warehouse(warehouse), RUN)
        judged = str(ruling.get("prediction_id") or ruling.get("control_id") or ruling["prompt_variant_id"])
        row = {
            "audit_run_id": RUN,
            "verdict_id": verdict_id(RUN, str(ruling["judge_id"]), judged, 1, 1, "f" * 64),
            "judge_key": "k",
            "repetition": 1,
            "ask": 1,
            "is_settled": True,
            "completion": "yes",
            "is_completion_escaped": False,
            "n_attempts": 1,
            "request_sha256": "f" * 64,
            "landed_at": datetime(2025, 11, 21),
        }
        spool.append("verdicts", row | ruling)
        spool.turn()
    said: list[str] = []
    assert replay(Warehouse(warehouse), said.append) == 4
    assert [line.rpartition("verdicts.jsonl: ")[2] for line in said] == [
        "has a verdict of judge 'j' on 'other', which the run does not ask",
        f"has a verdict of judge 'j' on '{of_answer['prediction_id']}', which the run does not ask",
        "has a verdict of judge 'other' on 'c', which the run does not ask",
        "has a verdict of judge 'j' on 'other', which the run does not ask",
        "has a verdict of judge 'j' on 'other', which the run does not ask",
        "line 1: a verdict_id that is not of its ruling and request",
    ]


def test_files_are_private_and_a_new_process_never_writes_into_an_old_file(warehouse: Path) -> None:
    first = spool_of(Warehouse(warehouse), RUN)
    first.append("predictions", prediction(1))
    second = spool_of(Warehouse(warehouse), RUN)
    second.append("predictions", prediction(2))
    files = sorted(Warehouse(warehouse).places.spool.rglob("*.jsonl"))
    assert [path.name for path in files] == ["00000001.predictions.jsonl", "00000002.predictions.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_what_else_lies_in_the_spool_is_left_there(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    spool.append("predictions", prediction(1))
    spool.turn()
    note = Warehouse(warehouse).places.spool / RUN / "notes.jsonl"
    note.write_text("mine")
    assert replay(Warehouse(warehouse)) == 1
    assert note.read_text() == "mine"


def test_a_warehouse_has_one_spool_by_whatever_link_it_is_reached(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "link.duckdb").symlink_to(warehouse)
    spool = spool_of(Warehouse(tmp_path / "link.duckdb"), RUN)
    spool.append("predictions", prediction(1))
    spool.turn()
    assert replay(Warehouse(warehouse)) == 1


FULL = """
import resource, signal, sys
from pathlib import Path
from promptaudit.warehouse.spool import spool_of
from promptaudit.warehouse import Warehouse
from tests.warehouse.test_spool import RUN, prediction

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # as a full disk: the write that crosses it is cut short
spool = spool_of(Warehouse(Path(sys.argv[1])), RUN)
for number in range(100):
    spool.append("predictions", prediction(number))
"""


def test_a_full_disk_is_one_clear_line_and_keeps_what_was_there(warehouse: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(warehouse)],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    last = ended.stderr.strip().splitlines()[-1]
    assert "WarehouseError" in last
    assert "an answer could not be kept; all before it are, run again to continue" in last
    n_kept = replay(Warehouse(warehouse))
    assert 5 < n_kept < 100
    assert query(warehouse, "select count(*) from raw.predictions") == [(n_kept,)]
