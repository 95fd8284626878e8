"""Says of what moved between two nights what it is in the words of the task, why, and how often chance does as much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.display.figures import count, cut

LABEL = 60
MOST_SURE = 1e-6
"""Below this q nothing is said but that it is less than one in a million."""


def in_labels(row: Mapping[str, Any]) -> str | None:
    """Returns how many samples moved, a row of rpt_night_verdicts, as its task calls them; None where it says nothing of it.

    `samples called billing that are cancellation: 14 of 20, 1 of 20 before`.
    """
    n, before = row.get("n_moved"), row.get("n_moved_before")
    if not n or (before is not None and n <= before) or row.get("verdict") in ("improved", "within_noise"):
        return None
    of = f"of {count(row['n_moved_samples'])}"
    counts = f"{count(n)} {of}" if before is None else f"{count(n)} {of}, {count(before)} {of} before"
    if before is None:
        return f"samples with another commonest answer than before: {counts}"
    if row["moved_gold_label"] is None:
        return f"samples with more wrong answers than right ones: {counts}"
    gold, label = (row[name] and cut(row[name], LABEL) for name in ("moved_gold_label", "moved_label"))
    if label is None:
        return f"samples that are {gold} and get no readable answer: {counts}"
    return f"samples called {label} that are {gold}: {counts}"


def why(row: Mapping[str, Any]) -> str:
    """Returns the reason of a verdict and what changed, where the row tells them apart."""
    return ": ".join(part for part in (row["reason"], row.get("what_changed")) if part)


def by_chance(q: float) -> str:
    """Returns how often chance alone tells as much, from q or from a p-value: `by chance 1 time in 2,500`."""
    if q < MOST_SURE:
        return "by chance less than once in a million times"
    if q > 0.5:  # noqa: PLR2004 - more often than not
        return "as chance has it"
    return f"by chance 1 time in {count(int(float(f'{1 / q:.2g}')))}"
