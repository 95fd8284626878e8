"""Dealing cells to shards: every cell once, evenly, the same wherever it is computed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from promptaudit.ask.shards.deal import deal
from promptaudit.ask.wordings.paraphrase import paraphrase
from promptaudit.plan.budget import Budget, Purse
from promptaudit.warehouse import Warehouse
from tests.support.http_audit import opened, write_cards


@pytest.mark.parametrize("n_shards", [1, 2, 4, 7])
def test_each_pair_has_one_shard_and_shards_differ_by_one_variant_at_most(tmp_path: Path, n_shards: int) -> None:
    registry = write_cards(tmp_path / "cards", "http://127.0.0.1:9/v1", variants=9, strategies="simple, detail")
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    audit_run_id, design = opened(warehouse.path, registry)
    variants = paraphrase(Purse(warehouse, audit_run_id, Budget(None, None)), design).variants
    dealt = deal(design, ["api", "other"], variants, n_shards)
    assert set(dealt) == {(model, each.prompt_variant_id) for model in ("api", "other") for each in variants}
    shuffled = random.Random(1).sample(variants, len(variants))
    assert deal(design, ["other", "api"], shuffled, n_shards) == dealt
    cells = Counter[int]()
    for (_, prompt_variant_id), shard in dealt.items():
        variant = next(each for each in variants if each.prompt_variant_id == prompt_variant_id)
        cells[shard] += len(variant.repetitions) * design.n_samples(variant.task_id)
    assert set(cells) == set(range(1, n_shards + 1))
    assert max(cells.values()) - min(cells.values()) <= 20
