"""What is in the spool outlives the process, lands once, and names the line that cannot be landed."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.warehouse import Warehouse
from flows.warehouse.spool import land_segment, read_spooled, replay, spool_of
from models_registry.errors import WarehouseError
from tests.support.http_audit import query

ROOT = Path(__file__).parents[2]
RUN = "0" * 32


def prediction(number: int, completion: str | None = "yes") -> dict[str, object]:
    return {
        "audit_run_id": RUN, "prediction_id": f"p{number}", "model_id": "m", "task_id": "t", "prompt_variant_id": "v",
        "sample_id": "s", "repetition": 1, "completion": completion, "is_completion_escaped": False, "is_refused": False,
        "n_attempts": 1, "request_sha256": "f" * 64, "latency_ms": 0.1 + 0.2,
        "landed_at": datetime(2026, 11, 21, 3, 4, 5, 678901),
    }  # fmt: skip


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    path = tmp_path / "audit.duckdb"
    Warehouse(path).apply_schema()
    return path


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=40))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    spool = spool_of(Warehouse(tmp_path_factory.mktemp("spool") / "audit.duckdb"), RUN)
    spool.append("predictions", prediction(1, text))
    (path,) = spool.turn()
    (row,) = read_spooled(path).to_dicts()
    expected = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert row["completion"] == expected
    assert row["landed_at"] == datetime(2026, 11, 21, 3, 4, 5, 678901)
    assert row["latency_ms"] == 0.1 + 0.2
    assert row["cost_usd"] is None


def test_times_are_kept_in_utc(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    east = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    spool.append(
        "attempts", {"audit_run_id": RUN, "prediction_id": "p", "attempted_at": east, "error": "x", "waited_ms": 0}
    )
    land_segment(Warehouse(warehouse), spool.turn())
    assert query(warehouse, "select attempted_at from raw.attempts") == [(datetime(2026, 1, 1),)]


def test_landing_twice_adds_nothing_and_leaves_no_file(warehouse: Path) -> None:
    for numbers in ((1, 2), (2, 3)):
        spool = spool_of(Warehouse(warehouse), RUN)
        for number in numbers:
            spool.append("predictions", prediction(number))
        spool.turn()
    assert replay(Warehouse(warehouse)) == 4
    assert query(warehouse, "select list(prediction_id order by prediction_id) from raw.predictions") == [
        (["p1", "p2", "p3"],)
    ]
    assert not Warehouse(warehouse).places.spool.exists()
    assert replay(Warehouse(warehouse)) == 0


def test_a_row_that_was_cut_off_is_left_out(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    spool.append("predictions", prediction(1))
    spool.append("predictions", prediction(2, "é" * 100))
    (path,) = spool.turn()
    path.write_bytes(path.read_bytes()[:-30])
    assert replay(Warehouse(warehouse)) == 1
    assert query(warehouse, "select prediction_id from raw.predictions") == [("p1",)]


def test_a_line_that_is_no_row_is_named_and_nothing_is_lost(warehouse: Path) -> None:
    spool = spool_of(Warehouse(warehouse), RUN)
    spool.append("predictions", prediction(1))
    (path,) = spool.turn()
    path.write_bytes(path.read_bytes() + b"\x00\x00 no row\n")
    with pytest.raises(WarehouseError, match=r"00000001\.predictions\.jsonl line 2: no row"):
        replay(Warehouse(warehouse))
    assert path.exists()


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
from flows.warehouse.spool import spool_of
from flows.warehouse import Warehouse
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
