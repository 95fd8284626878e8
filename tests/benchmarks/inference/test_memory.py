"""A million planned requests are streamed: memory does not grow with the plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.http_audit import write_cards
from tests.support.openai_server import running_server

ROOT = Path(__file__).parents[3]
CHILD = """
import json, resource, sys
from pathlib import Path
from promptaudit.registry.errors import BudgetReached
from tests.support.http_audit import ask, cells
warehouse = Path(sys.argv[1])
try:
    ask(warehouse, Path(sys.argv[2]), max_requests=50_000)
except BudgetReached as reached:
    print(reached, file=sys.stderr)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"peak_kib": peak, "landed": cells(warehouse)[0]}))
"""


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_a_million_planned_and_50_000_answered(tmp_path: Path) -> None:
    with running_server() as server:
        cards = write_cards(
            tmp_path / "cards", server.base_url, n_samples=33_334, variants=30, limits="{max_connections: 64}"
        )
        ended = subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path / "audit.duckdb"), str(cards)],
            cwd=ROOT,
            env={**os.environ, "AUDIT_KEY": "sk-0123456789abcdef"},
            capture_output=True,
            text=True,
            check=True,
        )
    found = json.loads(ended.stdout)
    print(f"\n1,000,020 planned, {found['landed']} answered: {found['peak_kib'] / 2**20:.2f} GiB at most")
    assert "BudgetReached: 50000 requests made" in ended.stderr
    assert found["landed"] == 50_000
    assert found["peak_kib"] < 2**20
