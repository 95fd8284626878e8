"""A row that no run asked may stand as an example in prompts: erasing says where, and that it does not reach it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.erase.erase import erase
from flows.warehouse import Warehouse
from flows.warehouse.rows import frame_of
from models_registry.errors import DataError

SETTINGS = [
    None,
    "{}",
    '{"examples": {"rows": null, "order": [1, 0]}}',
    json.dumps({"examples": {"rows": ["qt-001", "qt-033"], "order": None}}),
    json.dumps({"wording": 2, "examples": {"rows": ["qt-033"], "order": None}}),
]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A warehouse of five variants, of which the last two show row qt-033."""
    made = Warehouse(tmp_path / "audit.duckdb")
    made.apply_schema()
    rows = [
        {"audit_run_id": "r", "prompt_variant_id": f"v{place}", "task_id": "t", "strategy": "one_shot",
         "variant_index": place, "is_original": place == 0, "is_edited": False, "prompt": "[]", "repetitions": [1],
         "setting": setting}
        for place, setting in enumerate(SETTINGS)
    ]  # fmt: skip
    made.land([("prompt_variants", frame_of("prompt_variants", rows))])
    return made


@pytest.mark.parametrize("task", [None, "t"])
def test_the_run_and_the_variant_that_show_it_are_named(warehouse: Warehouse, task: str | None) -> None:
    with pytest.raises(DataError) as told:
        erase(warehouse, "qt-033", task)
    line = str(told.value)
    assert (
        "stands as an example in the prompts of run r (task 't', one_shot, variant 3) and 1 more prompt variant" in line
    )
    assert "`erase` does not reach it" in line
    assert "\n" not in line


@pytest.mark.parametrize(("sample", "task"), [("qt-03", None), ("qt-033", "other")])
def test_a_row_that_nothing_shows_is_no_sample(warehouse: Warehouse, sample: str, task: str | None) -> None:
    with pytest.raises(DataError, match=f"no run has a sample '{sample}'"):
        erase(warehouse, sample, task)
