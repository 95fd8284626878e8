"""The report of an audit of many tasks: its cost beside its queries' own, and its bytes a model, task and strategy."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from promptaudit.registry.cards import FormatLimits
from promptaudit.report.gather import gather
from promptaudit.report.page import render_parts
from promptaudit.warehouse import Warehouse
from tests.support.imported_runs import COLOURS, Recorded, published

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

N_TASKS = 60


def answers() -> list[dict[str, object]]:
    draw = random.Random(7)
    rows: list[dict[str, object]] = []
    for task in range(N_TASKS):
        for sample in range(20):
            gold = COLOURS[sample % 4]
            for variant in range(6):
                said = gold if draw.random() < 0.8 else draw.choice(COLOURS)
                rows.append(
                    {
                        "model": "m",
                        "task": f"t{task:03d}",
                        "sample_id": f"s{sample}",
                        "completion": said,
                        "gold_label": gold,
                        "variant_index": variant,
                        "repetition": 1,
                    }
                )
    return rows


def test_many_tasks(tmp_path: Path) -> None:
    warehouse, (run,) = published(tmp_path, [Recorded("many tasks", answers(), COLOURS, FormatLimits(policy="warn"))])
    found = gather(Warehouse(warehouse), run)
    asked, rendered = [], []
    for _ in range(3):
        started = time.process_time()
        found = gather(Warehouse(warehouse), run)
        asked.append(time.process_time() - started)
        started = time.process_time()
        pages = render_parts(found)
        rendered.append(time.process_time() - started)
    a_group = sum(map(len, pages)) / len(found.scorecard)
    print(
        f"\n{N_TASKS} tasks: queries {min(asked):.2f} s, pages {min(rendered):.2f} s of processor time, "
        f"{len(pages)} pages of at most {max(map(len, pages)) / 1e6:.1f} MB, {a_group / 1e3:.0f} kB a group"
    )
    assert max(map(len, pages)) < 5_000_000
    assert a_group < 150_000
    assert min(rendered) < 6 * min(asked)
