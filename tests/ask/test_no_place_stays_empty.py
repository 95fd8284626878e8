"""While cells of a model are left, all of its places are taken: at the first answers, and from strategy to strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.full_server import full_server
from tests.support.http_audit import ask, cells, query, write_cards

PLACES = 8


@pytest.mark.parametrize("strategies", ["simple", "simple, detail"])
def test_no_place_stays_empty_while_cells_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategies: str
) -> None:
    monkeypatch.setenv("AUDIT_KEY", "sk-0123456789abcdef")
    warehouse, n_samples, n_cells = tmp_path / "audit.duckdb", 30, 30 * 3 * len(strategies.split(", "))
    with full_server(n_cells, PLACES) as server:
        cards = write_cards(
            tmp_path / "cards",
            server.base_url,
            n_samples=n_samples,
            strategies=strategies,
            limits=f"{{max_connections: {PLACES}}}",
            max_invalid_rate_at_first=1,
        )
        assert ask(warehouse, cards).n_landed == n_cells
        assert ask(warehouse, cards).n_landed == 0
    assert not server.is_starved
    assert (server.peak, server.n_answered) == (PLACES, n_cells)
    assert cells(warehouse) == (n_cells, n_cells)
    # one strategy after the other: at most as many as there are places land out of it
    landed = query(
        warehouse,
        "select strategy from raw.predictions join raw.prompt_variants using (audit_run_id, prompt_variant_id) "
        "order by landed_at",
    )
    order = [strategy for (strategy,) in landed]
    assert sum(order[n] != order[n - 1] for n in range(1, len(order))) <= 2 * PLACES
