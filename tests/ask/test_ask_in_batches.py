"""A model asked in batches: every cell lands once and is paid once, whatever ends, expires, fails or is killed on the way."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptaudit.ask import collect_batches
from promptaudit.engines.pacing import retry
from promptaudit.registry.errors import BudgetReached, EngineError
from tests.support.batch_audit import ask, query, states, write_cards
from tests.support.batch_server import RunningBatchServer, running_batch_server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KEY = "sk-proj-AbCdEf0123456789AbCdEf0123456789"
N_SAMPLES = 40
N_CELLS = 3 * N_SAMPLES


@pytest.fixture(scope="session")
def _running() -> Iterator[RunningBatchServer]:
    with running_batch_server() as running:
        yield running


@pytest.fixture
def server(_running: RunningBatchServer, monkeypatch: pytest.MonkeyPatch) -> RunningBatchServer:
    """A server without files or batches that takes a tenth of a second a batch."""
    _running.reset(key=KEY)
    monkeypatch.setenv("BATCH_KEY", KEY)
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)
    return _running


@pytest.fixture
def folder(tmp_path: Path, server: RunningBatchServer) -> Path:
    """A registry of 120 cells, in batches of 50, and a place for the warehouse."""
    write_cards(tmp_path, server.base_url, N_SAMPLES, batch={"max_requests": 50})
    return tmp_path


def run(folder: Path, max_requests: int | None = None) -> list[str]:
    said: list[str] = []
    asyncio.run(ask(folder, said, max_requests))
    return said


def landed(folder: Path) -> tuple[int, int, int]:
    """Rows, distinct cells and permanent errors of raw.predictions."""
    cell = "(prompt_variant_id, sample_id, repetition)"
    ((n_rows, n_cells, n_errors),) = query(
        folder, f"select count(*), count(distinct {cell}), count(error) from raw.predictions"
    )
    return n_rows, n_cells, n_errors


def computed(server: RunningBatchServer) -> list[int]:
    """How often each cell that was computed was; all ones where nothing was paid twice."""
    return list(server.counters()["computed"].values())


def test_every_cell_lands_once_and_is_asked_once(folder: Path, server: RunningBatchServer) -> None:
    said = run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS
    assert server.counters()["creates"] == 3
    recorded = states(folder)
    assert [(row[0], row[-1]) for row in recorded] == [("submitted", "collected")] * 3
    assert all("completed" in row for row in recorded)
    assert "nightly: batch batch_000003: 20 requests handed over" in said
    assert "nightly: batch batch_000001: 50 of 50 landed" in said
    assert query(folder, "select distinct n_requests, error from raw.batches order by all") == [(20, None), (50, None)]
    assert list((folder / "batches").iterdir()) == []
    # nothing is missing: nothing is asked
    assert run(folder) == []
    assert server.counters()["creates"] == 3


def test_what_expired_is_handed_over_again(folder: Path, server: RunningBatchServer) -> None:
    server.behave(first={"expire": 1}, rates={})
    # a round that lands nothing is the last; the next run asks again
    run(folder)
    assert landed(folder) == (0, 0, 0)
    assert query(folder, "select count(*), count(http_status) from raw.attempts") == [(N_CELLS, 0)]
    assert [row[-2] for row in states(folder)] == ["expired"] * 3
    run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS


def test_the_finished_part_counts_and_the_rest_is_asked_again(folder: Path, server: RunningBatchServer) -> None:
    server.behave(rates={"expire": 0.2, "status_500": 0.1, "status_400": 0.1})
    run(folder)
    n_rows, n_cells, n_errors = landed(folder)
    assert n_rows == n_cells
    assert 0 < n_errors < n_rows < N_CELLS
    # the second round held what the first had left, landed nothing, and so was the last
    assert server.counters()["creates"] == 4
    # a landed cell was computed once, a failed one once a round
    twice = sum(n == 2 for n in computed(server))
    assert query(folder, "select count(*) from raw.attempts where http_status = 500") == [(2 * twice,)]
    server.behave(rates={})
    run(folder)
    assert landed(folder)[:2] == (N_CELLS, N_CELLS)


def test_rounds_are_as_many_as_attempts(tmp_path: Path, server: RunningBatchServer) -> None:
    texts = ["<<status_500>>"]
    write_cards(tmp_path, server.base_url, 4, texts, limits={"max_attempts": 1})
    server.behave(rates={})
    run(tmp_path)
    assert landed(tmp_path) == (9, 9, 0)
    assert server.counters()["creates"] == 1
    write_cards(tmp_path, server.base_url, 4, texts, limits={"max_attempts": 5})
    run(tmp_path)
    # that round landed nothing, so it was the last
    assert server.counters()["creates"] == 2


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.batch_audit", str(folder)],
        cwd=ROOT,
        env={**os.environ, "BATCH_KEY": KEY},
        stdout=subprocess.PIPE,
        text=True,
    )


def killed_when(server: RunningBatchServer, process: subprocess.Popen[str], n_batches: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.counters()["batches"]) < n_batches:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_killed_while_batches_run_the_next_process_lands_them(folder: Path, server: RunningBatchServer) -> None:
    server.behave(seconds=600)
    process = started(folder)
    assert process.stdout is not None
    while "batch_000003: 20 requests handed over" not in process.stdout.readline():
        assert process.poll() is None
    killed_when(server, process, 3)
    assert landed(folder) == (0, 0, 0)
    server.behave(seconds=0.1)
    said = run(folder)
    assert said[0] == "nightly: batches that were handed over before: 3"
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS
    assert server.counters()["creates"] == 3


def test_killed_before_a_batch_is_recorded_the_provider_tells_of_it(folder: Path, server: RunningBatchServer) -> None:
    server.behave(create_delay_s=30)
    killed_when(server, started(folder), 1)
    assert query(folder, "select count(*) from raw.batches") == [(0,)]
    server.behave(create_delay_s=0)
    run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS
    assert server.counters()["creates"] == 3
    assert query(folder, "select n_requests from raw.batches where state = 'submitted' order by all") == [
        (20,),
        (50,),
        (50,),
    ]


def test_interrupted_the_batches_run_on(folder: Path, server: RunningBatchServer) -> None:
    server.behave(seconds=1)

    async def interrupted() -> None:
        said: list[str] = []
        task = asyncio.create_task(ask(folder, said))
        async with asyncio.timeout(60):
            while not any("batch_000003" in line for line in said):  # noqa: ASYNC110 - what is waited for is a list
                await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS


def test_what_the_budget_bears_is_handed_over_and_landed(folder: Path, server: RunningBatchServer) -> None:
    with pytest.raises(BudgetReached):
        run(folder, max_requests=70)
    assert landed(folder) == (70, 70, 0)
    assert server.counters()["creates"] == 2
    with pytest.raises(BudgetReached):
        run(folder, max_requests=0)
    assert server.counters()["creates"] == 2
    run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS


def test_a_batch_that_failed_as_a_whole_is_one_line(folder: Path, server: RunningBatchServer) -> None:
    server.behave(fails="mismatched_model")
    with pytest.raises(EngineError) as raised:
        run(folder)
    assert str(raised.value) == (
        "EngineError: model 'm': a batch failed as a whole: mismatched_model: The batch is refused: mismatched_model. (line 1)"
    )
    assert states(folder) == [["submitted", "failed", "collected"]] * 3
    errors = query(folder, "select distinct error from raw.batches where state = 'failed'")
    assert errors == [("mismatched_model: The batch is refused: mismatched_model. (line 1)",)]
    server.behave(fails=None)
    run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)


def test_what_the_provider_has_no_room_for_waits_for_the_next_round(folder: Path, server: RunningBatchServer) -> None:
    write_cards(folder, server.base_url, N_SAMPLES, batch={"max_requests": 40}, limits={"max_attempts": 2})
    server.behave(max_running=1)
    said = run(folder)
    assert any("token_limit_exceeded" in line for line in said)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS


def test_hostile_lines_land_nothing(folder: Path, server: RunningBatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # small parts, so that a cell's second result comes when its first has landed
    monkeypatch.setattr(collect_batches, "PART_ANSWERS", 7)
    server.behave(n_malformed=14, n_doubled=5, n_foreign=3)
    said = run(folder)
    assert landed(folder) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS
    assert query(folder, "select count(*) from raw.predictions where completion in ('twice', 'foreign')") == [(0,)]
    assert any("50 of 50 landed; results of no open cell: " in line and "no results: 12" in line for line in said)


def test_a_refusal_for_all_ends_the_run_when_the_rest_has_landed(tmp_path: Path, server: RunningBatchServer) -> None:
    write_cards(tmp_path, server.base_url, 4, ["<<stop>>"])
    server.behave(rates={})
    with pytest.raises(EngineError, match="model_not_found"):
        run(tmp_path)
    assert landed(tmp_path) == (9, 9, 0)
    assert states(tmp_path)[0][-1] == "collected"


def test_an_endpoint_that_goes_silent_leaves_the_batches_running(tmp_path: Path, server: RunningBatchServer) -> None:
    write_cards(tmp_path, server.base_url, N_SAMPLES, limits={"max_attempts": 1})
    server.behave(lose_looks=10**6)
    with pytest.raises(EngineError, match="no word of batch batch_000001; it runs on"):
        run(tmp_path)
    server.behave(lose_looks=0)
    run(tmp_path)
    assert landed(tmp_path) == (N_CELLS, N_CELLS, 0)
    assert computed(server) == [1] * N_CELLS


def test_a_wrong_key_is_one_line(folder: Path, server: RunningBatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH_KEY", "sk-another-0123456789")
    with pytest.raises(EngineError, match=r"HTTP 401: invalid_api_key: .*its key is read from BATCH_KEY") as raised:
        run(folder)
    assert "another" not in str(raised.value)
    assert server.counters()["batches"] == []


def test_the_key_is_in_no_file_and_no_line(folder: Path, server: RunningBatchServer) -> None:
    said = run(folder)
    server.behave(hostile_batch=True)
    write_cards(folder, server.base_url, N_SAMPLES + 1, limits={"max_attempts": 1})

    async def for_a_while() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(folder, said), 2)

    asyncio.run(for_a_while())
    assert any("[hidden]" in line for line in said)
    assert not [line for line in said if KEY in line]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert query(folder, "select count(*) from raw.batches where state like '%[hidden]%'") == [(1,)]
