"""Reads what is published of a comparison: what differs by more than chance, why, which samples flipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from promptaudit.flows.display.encode import encoded_property
from promptaudit.flows.warehouse import Row, Warehouse

VERDICTS = (
    "regressed",
    "changed",
    "improved",
    "unconfirmed",
    "suspect",
    "not_comparable",
    "not_judged",
    "within_noise",
)
"""Of nights and of comparisons, the gravest first."""
NEWS = ("regressed", "changed", "improved")
_CONFUSION = (
    "model_id",
    "task_id",
    "strategy",
    "moved_gold_label",
    "moved_label",
    "n_moved",
    "n_moved_before",
    "n_moved_samples",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The rows of one comparison in the published marts; `runs` are the base and the candidate, or none without a row."""

    comparison_id: str
    runs: Sequence[Row]
    measures: Sequence[Row]
    changes: Sequence[Row]
    flips: Sequence[Row]
    moved: Sequence[Row]  # of each group that regressed or changed the confusion that grew most, the largest first

    @encoded_property
    def verdicts(self) -> dict[str, int]:
        """Returns how many measures came out how, the gravest first."""
        counts = Counter(row["verdict"] for row in self.measures)
        return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def run_comparison(warehouse: Warehouse, comparison_id: str) -> RunComparison:
    """Returns everything that is published of a comparison."""
    measures = _of(warehouse, "rpt_run_comparisons", comparison_id, "task_id, strategy, model_id, measure")
    changes = _of(warehouse, "rpt_run_changes", comparison_id, "model_id, task_id, what")
    flips = _of(warehouse, "fct_flips", comparison_id, "flip, task_id, strategy, model_id, sample_id")
    runs = warehouse.published.read("select audit_run_id, audit_id, started_at from marts.dim_audit_runs")
    known = {run["audit_run_id"]: run for run in runs}
    sides = [known[measures[0][side]] for side in ("base_run_id", "candidate_run_id")] if measures else []
    return RunComparison(
        comparison_id=comparison_id, runs=sides, measures=measures, changes=changes, flips=flips, moved=_moved(measures)
    )


def _moved(measures: Sequence[Row]) -> list[Row]:
    """Returns of each group that regressed or changed the confusion that grew most, the largest first."""
    told = [row for row in measures if row["verdict"] in ("regressed", "changed") and row["n_moved"] is not None]
    by_group = {
        (row["model_id"], row["task_id"], row["strategy"]): {name: row[name] for name in _CONFUSION} for row in told
    }
    return sorted(
        (by_group[group] for group in sorted(by_group)), key=lambda row: row["n_moved_before"] - row["n_moved"]
    )


def _of(warehouse: Warehouse, table: str, comparison_id: str, order: str) -> list[Row]:
    query = f"select * from marts.{table} where comparison_id = $comparison order by {order}"  # noqa: S608 - a mart of ours
    return warehouse.published.read(query, comparison=comparison_id)
