"""Says which part of the grid of samples and wordings a run asked, where that is not all of it."""

from __future__ import annotations

from collections.abc import Sequence

from flows.display.figures import NAME, count, cut
from flows.warehouse import Row
from models_registry.mart_columns import labels_of_full_grids

MOST_NAMED = 6


def part_of_grid(designs: Sequence[Row]) -> list[str]:
    """Returns a sentence on wordings that were not asked of every sample, and one on samples that were not asked at all.

    Args:
        designs: rows of dim_designs of one run; those of a copy that an earlier version published have fewer columns.
    """
    return [*_of_wordings(designs), *_of_samples(designs)]


def _of_wordings(designs: Sequence[Row]) -> list[str]:
    own = [row for row in designs if row.get("wordings_per_sample") is not None]
    if not own:
        return []
    shares = sorted({(row["wordings_per_sample"], row["n_wordings"]) for row in own})
    under = ", ".join(f"{part} of {whole} prompt variants" for part, whole in shares)
    unmeasured = ", ".join(labels_of_full_grids())
    return [f"Each sample was asked under {under}; what needs all of them is not measured: {unmeasured}."]


def _of_samples(designs: Sequence[Row]) -> list[str]:
    stopped = [row for row in designs if row.get("is_stopped")]
    if not stopped:
        return []
    named = [
        f"{cut(row['model_id'], NAME)}, {cut(row['task_id'], NAME)}, {cut(row['strategy'], NAME)} after "
        f"{count(row['n_samples_asked'])} of {count(row['n_samples'])} samples"
        for row in stopped[:MOST_NAMED]
    ]
    rest = [] if len(stopped) <= MOST_NAMED else [f"and {len(stopped) - MOST_NAMED} more"]
    base = stopped[0]["base_run_id"]
    why = (
        "the gate was decided by then"
        if base is None
        else f"it was clear by then whether answers differ from run {base}"
    )
    return [f"Stopped early, since {why}: {'; '.join([*named, *rest])}. Such a run is no baseline."]
