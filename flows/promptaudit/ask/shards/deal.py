"""Assigns the cells of a run to shards; all cells of a model and prompt variant, whose prompts begin alike, to one."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

from promptaudit.plan.cells import Variant
from promptaudit.plan.design import Design
from promptaudit.system.keys import content_id

Pair = tuple[str, str]
"""Names a model and a prompt variant."""


def deal(design: Design, model_ids: Collection[str], variants: Sequence[Variant], n_shards: int) -> dict[Pair, int]:
    """Assigns each model × prompt variant to a shard, from 1 to `n_shards`.

    Pairs with most cells come first, ties by hash, each to the shard that has fewest cells by then: the same wherever
    it is computed from the same plan, and no two shards differ by more cells than one prompt variant has.
    """
    sizes = {
        (model_id, variant.prompt_variant_id): variant.n_cells(design)
        for model_id in model_ids
        for variant in variants
        if variant.asks(model_id)
    }
    shards = [(0, shard) for shard in range(1, n_shards + 1)]
    dealt = {}
    for pair in sorted(sizes, key=lambda pair: (-sizes[pair], content_id(*pair))):
        n_cells, shard = shards[0]
        dealt[pair] = shard
        heapq.heapreplace(shards, (n_cells + sizes[pair], shard))
    return dealt
