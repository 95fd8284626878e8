"""Answers a second of 1 to 8 askers at a server that takes its time for each answer, and the lander's part of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.fast_server import running_fast_server
from tests.support.http_audit import ask, cells, query, write_cards

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
LATENCY_S, CONNECTIONS, WINDOW_S = 0.2, 8, 4
N_VARIANTS, N_CELLS = 8, 800  # an asker
ANSWERED = """
    select max(n) from (
        select count(*) over (order by landed_at range between to_seconds(?) preceding and current row) as n
        from raw.predictions
    )
"""


@dataclass(frozen=True)
class Speed:
    """Answers a second while all askers asked, and seconds of the lander's processor a second of the run."""

    per_second: float
    lander: float


def speed(folder: Path, n_askers: int) -> Speed:
    """The speed of a run by so many askers, each with as many cells."""
    folder.mkdir()
    warehouse = folder / "audit.duckdb"
    with running_fast_server(LATENCY_S) as server:
        registry = write_cards(
            folder / "cards",
            server.base_url,
            n_samples=n_askers * N_CELLS // N_VARIANTS,
            variants=N_VARIANTS,
            limits=f"{{max_connections: {CONNECTIONS}}}",
            price="free",
        )
        began, processor = time.monotonic(), time.process_time()
        ask(warehouse, registry, n_askers=n_askers)
        lander = (time.process_time() - processor) / (time.monotonic() - began)
    assert cells(warehouse) == (n_askers * N_CELLS,) * 2
    ((most,),) = query(warehouse, ANSWERED, [WINDOW_S])
    return Speed(most / WINDOW_S, lander)


def test_askers_answer_n_times_as_much_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    found = {n: speed(tmp_path / str(n), n) for n in (1, 2, 4, 8)}
    for n, each in found.items():
        times = each.per_second / found[1].per_second
        print(f"{n} askers: {each.per_second:.0f} answers/s, {times:.2f} × one, lander {each.lander:.2f}")
    assert all(each.per_second >= 0.9 * n * found[1].per_second for n, each in found.items())
    assert found[8].lander < 0.5
