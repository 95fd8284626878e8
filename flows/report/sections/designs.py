"""Says which part of the grid of samples and wordings a run asked, where that is not all of it."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.flows.warehouse import Row
from promptaudit.models_registry.mart_columns import labels_of_full_grids


def part_of_grid(designs: Sequence[Row]) -> list[str]:
    """Returns a sentence on wordings that were not asked of every sample.

    Args:
        designs: rows of dim_designs of one run.
    """
    own = [row for row in designs if row["wordings_per_sample"] is not None]
    if not own:
        return []
    shares = sorted({(row["wordings_per_sample"], row["n_wordings"]) for row in own})
    under = ", ".join(f"{part} of {whole} prompt variants" for part, whole in shares)
    unmeasured = ", ".join(labels_of_full_grids())
    return [f"Each sample was asked under {under}; figures that need all of them are not measured: {unmeasured}."]
