"""Reads the nights of an audit: its complete runs in order, their figures, and what keeps two nights from comparing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from promptaudit.registry.mart_columns import compared_unit
from promptaudit.system.display.figures import count
from promptaudit.warehouse import Ask, Row, rows_as
from promptaudit.warehouse.sql import over, sql

MOST_NIGHTS = 60  # in the report
# column, its word; a figure over fewer is another figure (sensitivity above all). For samples the number planned
# counts: one that is lost to an error keeps no two nights apart
DENOMINATORS = (
    ("n_samples", "samples"),
    ("n_variants", "variants"),
    ("n_variants_answered", "variants answered"),
    ("n_repetitions", "asks"),
    ("measure_version", "measures version"),
)
STEPS = ("%m-%d", "%m-%d %H:%M", "%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S")  # the parts a night's name may have
DATED = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")


class NightRun(NamedTuple):
    """A run of an audit and when it started (UTC)."""

    audit_run_id: str
    started_at: datetime


class NightVerdict(NamedTuple):
    """The verdict on one measure of a run against normal nights."""

    audit_run_id: str
    model_id: str
    task_id: str
    strategy: str
    measure: str
    verdict: str
    reason: str | None
    base: float | None
    difference_low: float | None
    difference_high: float | None

    @property
    def band(self) -> tuple[float, float] | None:
        """Computes the normal band: the mean of normal nights, plus and minus half of the difference's 95 % interval.

        None where there is no interval. The band of a measure of logarithms is converted back into counts.
        """
        if self.base is None or self.difference_low is None or self.difference_high is None:
            return None
        half = (self.difference_high - self.difference_low) / 2
        ends = (self.base - half, self.base + half)
        is_log = (compared_unit(self.measure) or "").startswith("log_")
        return (math.expm1(ends[0]), math.expm1(ends[1])) if is_log else ends


class NightMark(NamedTuple):
    """A person's remark on a night, or a change of what is asked from it on. A key that is None stands for all."""

    audit_run_id: str
    model_id: str | None
    task_id: str | None
    strategy: str | None
    mark: str

    def is_of(self, model_id: str, task_id: str, strategy: str | None) -> bool:
        """Checks whether the mark is about a model's nights under a task and strategy; None is all strategies."""
        ours = zip(self[1:4], (model_id, task_id, strategy), strict=True)
        return all(its is None or own is None or its == own for its, own in ours)


@dataclass(slots=True)
class Nights:
    """The last complete runs of an audit up to one of them, oldest first, with the figures and verdicts of each.

    `figures` has the rows of the query; imports have no verdicts. `before` is the night before the first.
    """

    runs: list[NightRun] = field(default_factory=list)
    figures: list[Row] = field(default_factory=list)
    verdicts: list[NightVerdict] = field(default_factory=list)
    marks: list[NightMark] = field(default_factory=list)
    before: str | None = None


def gather_nights(ask: Ask, figures: str, limit: int) -> Nights:
    """Reads the nights of `$run`'s audit up to `$run`, at most `limit`. `figures` is a query over table `nights`."""
    nights = sql("query.history", "nights")
    # one more than is shown: what the oldest shown is compared with
    runs = rows_as(
        NightRun,
        ask(over("select audit_run_id, started_at from nights order by run_index", nights=nights), most=limit + 1),
    )
    verdicts = over(sql("query.history", "verdicts"), nights=nights)
    return Nights(
        runs=runs[-limit:],
        figures=ask(over(figures, nights=nights), most=limit + 1),
        verdicts=rows_as(NightVerdict, ask(verdicts, most=limit + 1)),
        marks=rows_as(NightMark, ask(over(sql("query.history", "marks"), nights=nights), most=limit + 1)),
        before=runs[0].audit_run_id if len(runs) > limit else None,
    )


def differs(before: Row, now: Row) -> str:
    """Says how two nights' denominators differ: `variants 30 → 12`. Empty where the nights compare."""
    changes = [
        f"{word} {count(_planned(before, name))} → {count(_planned(now, name))}"
        for name, word in DENOMINATORS
        if name in before and name in now and _planned(before, name) != _planned(now, name)
    ]
    return ", ".join(changes)


def _planned(row: Row, name: str) -> int | None:
    # for samples the number planned
    planned: int | None = row.get(f"{name}_planned")
    return row[name] if planned is None else planned


def night_names(times: Sequence[datetime], steps: Sequence[str] = STEPS) -> list[str]:
    """Prints each time in the fewest parts that differ: `11-04` for nights, with the hour for runs of one day."""
    for step in steps:
        names = [f"{time:{step}}" for time in times]
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({place})" for place, name in enumerate(names, 1)]
