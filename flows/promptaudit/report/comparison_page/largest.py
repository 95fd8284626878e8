"""Finds the measure of a comparison that differs most, and ranks the others behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptaudit.gate.alerts.problems import figures_of
from promptaudit.marts.comparison.result import NEWS
from promptaudit.registry.mart_columns import compared_column
from promptaudit.report.summary_worst import UNSCALED, label_of
from promptaudit.system.display.compared import Compared
from promptaudit.warehouse import Row
from promptaudit.warehouse.figure_names import figure_id

CHURN = "label_churn"
NONE = 1e-9  # parallel sums differ in their last bits
LARGE, LARGER = 0.05, 0.15  # from which a difference is painted in a deeper shade


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The measure that differs most: beyond chance where any does. `figure_id` is the name that `trace` follows."""

    row: Row
    label: str
    moved: str  # +0.226 [+0.186, +0.266]
    figures: tuple[str, ...]  # from what to what, how sure
    figure_id: str
    is_news: bool
    is_of_labels: bool  # whether `diagnose` has something to say of it


def ranked(measures: Sequence[Row]) -> list[Row]:
    """Returns the measures that differ by a finite figure, those beyond chance first, then by size.

    Labels that changed, costs and times come after what is measured of the answers.
    """
    return sorted(
        (row for row in measures if _is_finite(row) and abs(row["difference"]) > NONE),
        key=lambda row: (row["verdict"] not in NEWS, row["measure"] in {*UNSCALED, CHURN}, -size(row)),
    )


def _is_finite(row: Row) -> bool:
    return row["difference"] is not None and all(
        math.isfinite(row[name] or 0) for name in ("base", "candidate", "difference")
    )


def largest_of(measures: Sequence[Row]) -> Largest | None:
    """Returns the one that differs most, of those that have a verdict; None where none differs.

    Labels that change no more than expected are no difference: asked again they change too.
    """
    judged = [
        row
        for row in measures
        if row["verdict"] in NEWS
        or (row["verdict"] in ("unconfirmed", "none_shown", "same") and row["measure"] != CHURN)
    ]
    row = next(iter(ranked(judged)), None)
    if row is None:
        return None
    known, moved, *sure = figures_of(Compared.of(row))
    return Largest(
        row=row,
        label=label_of(row["measure"]),
        moved=moved,
        figures=(known, *sure),
        figure_id=figure_id("rpt_run_comparisons", row, "difference"),
        is_news=row["verdict"] in NEWS,
        is_of_labels=compared_column(row["measure"]) is not None,
    )


def size(row: Row) -> float:
    """Returns how far a measure moved: as it is, and of costs and times as a part of what it was."""
    moved = abs(float(row["difference"] or 0))
    return moved / abs(float(row["base"])) if row["measure"] in UNSCALED and row["base"] else moved


def depth(row: Row) -> int:
    """Returns how deep a shade the size of a difference is painted in: 1, 2 or 3."""
    return 1 + sum(size(row) >= edge for edge in (LARGE, LARGER))
