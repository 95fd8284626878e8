"""Reads a published comparison: what differs by more than chance, why, and which samples flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from promptaudit.system.display.compared import Confusion, RunsCompared
from promptaudit.system.display.encode import encoded_property
from promptaudit.warehouse import Row, Warehouse, rows_as

VERDICTS = (
    "regressed",
    "changed",
    "improved",
    "unconfirmed",
    "suspect",
    "not_comparable",
    "not_judged",
    "none_shown",
    "same",
)
"""Verdicts of nights and of comparisons, the gravest first."""
NEWS = ("regressed", "changed", "improved")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """A run that is compared, and when it started (UTC)."""

    audit_run_id: str
    audit_id: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The rows of one comparison in the published marts. `runs` are the base and the candidate; empty without rows."""

    comparison_id: str
    runs: Sequence[ComparedRun]
    measures: Sequence[Row]
    changes: Sequence[Row]
    flips: Sequence[Row]
    moved: Sequence[Confusion]
    """For each group that regressed or changed, the confusion that grew most; the largest growth first."""

    @property
    def figures(self) -> list[RunsCompared]:
        """Converts the measures to objects, without the columns that no code reads by name."""
        return [RunsCompared.of(row) for row in self.measures]

    @property
    def names(self) -> tuple[str, str] | tuple[None, None]:
        """Names the two sides by the parts in which they differ if models or strategies are compared.

        Else None for both.
        """
        known = [each for each in self.figures if each.base_model_id is not None and each.base_strategy is not None]
        parts = (
            {(each.base_model_id, each.model_id) for each in known},
            {(each.base_strategy, each.strategy) for each in known},
        )
        differing = [pair for pairs in parts if len(pairs) == 1 for pair in pairs if pair[0] != pair[1]]
        if not differing:
            return None, None
        base, candidate = (":".join(str(pair[side]) for pair in differing) for side in (0, 1))
        return base, candidate

    @encoded_property
    def verdicts(self) -> dict[str, int]:
        """Counts the measures with each verdict, the gravest first."""
        counts = Counter(figure.verdict for figure in self.figures)
        return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def run_comparison(warehouse: Warehouse, comparison_id: str) -> RunComparison:
    """Reads everything that is published about a comparison."""
    measures = _of(warehouse, "rpt_run_comparisons", comparison_id, "task_id, strategy, model_id, measure")
    changes = _of(warehouse, "rpt_run_changes", comparison_id, "model_id, task_id, what")
    flips = _of(warehouse, "fct_flips", comparison_id, "flip, task_id, strategy, model_id, sample_id")
    runs = warehouse.published.read("select audit_run_id, audit_id, started_at from marts.dim_audit_runs")
    known = {run.audit_run_id: run for run in rows_as(ComparedRun, runs)}
    sides = [known[measures[0][side]] for side in ("base_run_id", "candidate_run_id")] if measures else []
    return RunComparison(
        comparison_id=comparison_id, runs=sides, measures=measures, changes=changes, flips=flips, moved=_moved(measures)
    )


def _moved(measures: Sequence[Row]) -> list[Confusion]:
    figures = [RunsCompared.of(row) for row in measures]
    worse = [each for each in figures if each.verdict in ("regressed", "changed") and each.n_moved is not None]
    by_group = {each.group: Confusion.of(each.row) for each in worse}
    return sorted(
        (by_group[group] for group in sorted(by_group)),
        key=lambda each: (each.n_moved_before or 0) - (each.n_moved or 0),
    )


def _of(warehouse: Warehouse, table: str, comparison_id: str, order: str) -> list[Row]:
    query = f"select * from marts.{table} where comparison_id = $comparison order by {order}"  # noqa: S608 - a mart of ours
    return warehouse.published.read(query, comparison=comparison_id)
