"""The scorecard: a run's figures, one row per model, task and strategy, as plain rows and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flows.display.figures import NAME, count, cut, interval, number, percent, usd
from flows.report.gather import rows
from flows.report.gather_judged import comparisons
from flows.report.queries import query
from flows.report.terminal.rule_against_judge import ComparisonCard
from flows.report.terminal.tables import tables
from flows.warehouse import Row, Warehouse

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

# heading, width
COLUMNS = (
    ("samples\nvariants", 8), ("sensitivity\n(corrected)", 14), ("consist-\nency", 14), ("micro-F1\n± std", 8),
    ("PSS intra", 14), ("PSS inter", 14), ("wording\nshare", 7), ("invalid\nrate", 7), ("cost", 7),
)  # fmt: skip

# of rpt_audit: what the report prints, on the page or as data
FIGURES = (
    "n_samples", "n_variants", "n_variants_quarantined", "n_repetitions", "n_planned", "n_landed", "sensitivity",
    "sensitivity_std", "sensitivity_corrected", "consistency", "consistency_std", "micro_f1", "micro_f1_std", "pss_intra",
    "pss_inter", "wording_share", "noise_share", "item_share", "invalid_rate", "cost_usd",
)  # fmt: skip


def scorecard_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Rows of marts.rpt_audit of one run at full precision, by task, strategy and model; empty for an unknown run."""
    return rows(warehouse, query("scorecard"), audit_run_id)


def comparison_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Rows of marts.rpt_rule_against_judge of one run at full precision, by task, model, rule and judge; empty without judges.

    `accuracy_std_rule` and `_judge` beside them are the published standard deviations (ddof 1) of the accuracies.
    """
    return comparisons(lambda text, /, **values: rows(warehouse, text, audit_run_id, **values))


def scorecard(warehouse: Warehouse, audit_run_id: str) -> RenderableType:
    """The scorecard as a rich renderable: one table from about 120 columns, several under each other below that.

    Under it each task's rules against its judges, where there are judges.
    """
    return Scorecard(scorecard_rows(warehouse, audit_run_id), comparison_rows(warehouse, audit_run_id))


def cells(row: Row) -> tuple[str, ...]:
    """A row's printed figures in the order of COLUMNS, the interval on a second line."""

    def with_interval(value: str, name: str) -> str:
        return f"{value}\n{interval(row[name + '_low'], row[name + '_high'])}".rstrip()

    sensitivity, corrected = number(row["sensitivity"]), number(row["sensitivity_corrected"])
    f1 = number(row["micro_f1"])
    return (
        f"{count(row['n_samples'])} ×\n{count(row['n_variants'])}",
        with_interval(f"{sensitivity} ({corrected})", "sensitivity_corrected")
        if corrected != sensitivity
        else sensitivity,
        with_interval(number(row["consistency"]), "consistency"),
        f1 if row["micro_f1_std"] is None else f"{f1}\n±{number(row['micro_f1_std'])}",
        with_interval(number(row["pss_intra"]), "pss_intra"),
        with_interval(number(row["pss_inter"]), "pss_inter"),
        number(row["wording_share"]),
        percent(row["invalid_rate"]),
        usd(row["cost_usd"]),
    )


class Scorecard:
    """Fits the width it is printed in: columns that do not fit go into a further table, none is dropped."""

    def __init__(self, found: list[Row], compared: list[Row] | None = None) -> None:
        self.rows = found
        self.compared = compared or []

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """What rich prints."""
        if not self.rows:
            yield "no figures yet: nothing of this run has been measured"
            return
        named = [
            (row["model_id"], f"{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}", cells(row))
            for row in self.rows
        ]
        yield from tables("model\ntask · strategy", COLUMNS, named, options.max_width)
        yield from ComparisonCard(self.compared).parts(options.max_width)
