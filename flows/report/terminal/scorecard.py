"""The scorecard: a run's figures, one row per model, task and strategy, as plain rows and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flows.display.figures import NAME, counted_of, cut, in_unit, interval
from flows.report.ask_copy import rows
from flows.report.gather_judging import comparisons
from flows.report.queries import query
from flows.report.terminal.missing_answers import missing_of_rows
from flows.report.terminal.rule_against_judge import comparisons_of_tasks
from flows.report.terminal.tables import tables
from flows.warehouse import Row, Warehouse
from models_registry.mart_columns import ENDS, Form, MartColumn, compact_measures, mart_columns

if TYPE_CHECKING:
    from rich.console import RenderableType

SIZE = ("samples\nvariants", 8)  # heading, width
WIDTHS: Mapping[Form, int] = {"interval": 14, "figure": 7}


def scorecard_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Returns the rows of marts.rpt_audit of one run at full precision, by task, strategy and model; empty for an unknown run."""
    return rows(warehouse, query("scorecard"), audit_run_id)


def comparison_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Returns the rows of marts.rpt_rule_against_judge of one run at full precision, by task, model, rule and judge.

    `accuracy_std_rule` and `_judge` beside them are the published standard deviations (ddof 1) of the accuracies.
    """
    return comparisons(lambda text, /, **values: rows(warehouse, text, audit_run_id, **values))


def scorecard(warehouse: Warehouse, audit_run_id: str, width: int) -> RenderableType:
    """Returns the scorecard for a terminal of a width, under it each task's rules against its judges, where there are any."""
    from rich.console import Group

    return Group(*drawn(scorecard_rows(warehouse, audit_run_id), comparison_rows(warehouse, audit_run_id), width))


def drawn(scores: list[Row], compared: list[Row], width: int) -> Iterator[RenderableType]:
    """Gives the parts of the scorecard: columns that do not fit go into a further table, none is dropped."""
    if not scores:
        yield "no figures yet: nothing of this run has been measured"
        return
    named = [
        (row["model_id"], f"{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}", cells(row)) for row in scores
    ]
    yield from tables("model\ntask · strategy", columns(), named, width)
    yield from missing_of_rows(scores, width)
    yield from comparisons_of_tasks(compared, width)


def columns() -> list[tuple[str, int]]:
    """Returns the heading and the width of each column of the scorecard."""
    return [SIZE, *((_heading(measure), WIDTHS[measure.compact]) for measure in compact_measures() if measure.compact)]


def _heading(measure: MartColumn) -> str:
    if measure.interval is not None:
        return f"{measure.label}\n(corrected)"
    return measure.label.replace(" ", "\n") if measure.compact == "figure" else measure.label


def cells(row: Row) -> tuple[str, ...]:
    """Returns a row's printed figures in the order of `columns`, the interval on a second line."""
    samples = counted_of(row["n_samples"], row.get("n_samples_planned")).replace(" of ", " of\n")
    size = f"{samples} ×\n{counted_of(row.get('wordings_per_sample') or row['n_variants'], row['n_variants'])}"
    return (size, *(_cell(row, measure) for measure in compact_measures()))


def _cell(row: Row, measure: MartColumn) -> str:
    figure = in_unit(measure.clipped(row[measure.name]), measure.unit)
    if measure.compact == "figure":
        return figure
    column = mart_columns("rpt_audit")[measure.estimate]
    if measure.interval is not None:  # that of another estimate, which stands beside the figure where they differ
        estimate = in_unit(column.clipped(row[column.name]), measure.unit)
        figure = figure if estimate == figure else f"{figure} ({estimate})"
    low, high = (column.clipped(row[column.name + end]) for end in ENDS)
    return f"{figure}\n{interval(low, high)}".rstrip()
