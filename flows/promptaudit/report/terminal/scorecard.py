"""The scorecard: a run's figures, one row per model, task and strategy, as plain rows and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptaudit.registry.mart_columns import ENDS, MartColumn, compact_measures
from promptaudit.report.ask_copy import rows
from promptaudit.report.gather_judging import comparisons
from promptaudit.report.queries import query
from promptaudit.report.sections.words import why_no_figure
from promptaudit.report.terminal.field_stability import fields_of_tasks
from promptaudit.report.terminal.missing_answers import missing_of_rows
from promptaudit.report.terminal.rule_against_judge import comparisons_of_tasks
from promptaudit.report.terminal.tables import Footnotes, Line, tables
from promptaudit.system.display.figures import ABSENT, NAME, count, counted_of, cut, in_unit, interval
from promptaudit.warehouse import Ask, Row, Warehouse

if TYPE_CHECKING:
    from rich.console import RenderableType

SIZE = "samples ×\nvariants"


def scorecard_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Returns the rows of marts.rpt_audit of one run at full precision, by task, strategy and model; empty for an unknown run."""
    return rows(warehouse, query("scorecard"), audit_run_id)


def comparison_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Returns the rows of marts.rpt_rule_against_judge of one run at full precision, by task, model, rule and judge.

    `accuracy_std_rule` and `_judge` beside them are the published standard deviations (ddof 1) of the accuracies.
    """
    return comparisons(_asker(warehouse, audit_run_id))


def field_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Returns the rows of marts.fct_field_stability of one run at full precision, by task, strategy, model and field."""
    return rows(warehouse, query("fields"), audit_run_id)


def _asker(warehouse: Warehouse, audit_run_id: str) -> Ask:
    return lambda text, /, **values: rows(warehouse, text, audit_run_id, **values)


def scorecard(warehouse: Warehouse, audit_run_id: str, width: int) -> RenderableType:
    """Returns the scorecard for a terminal of a width, under it each task's rules against its judges, where there are any."""
    from rich.console import Group

    tasks = rows(warehouse, query("tasks"), audit_run_id)
    kinds = {row["task_id"]: row["kind"] for row in tasks}
    scores, compared = scorecard_rows(warehouse, audit_run_id), comparison_rows(warehouse, audit_run_id)
    parts = drawn(scores, compared, width, kinds)
    return Group(*parts, *fields_of_tasks(field_rows(warehouse, audit_run_id), width))


def drawn(
    scores: list[Row], compared: list[Row], width: int, kinds: Mapping[str, str] | None = None
) -> Iterator[RenderableType]:
    """Yields the parts of the scorecard; each dash has a number that a sentence below tells the reason of.

    A column that is the same in every row is a sentence instead.
    """
    if not scores:
        yield "no figures yet: nothing of this run has been measured"
        return
    notes = Footnotes()
    columns = [(SIZE, [size(row) for row in scores])]
    for measure in compact_measures():
        column = [_cell(row, measure, notes, (kinds or {}).get(row["task_id"], "")) for row in scores]
        columns.append((_heading(measure), column))
    same = {
        title: column[0]
        for title, column in columns
        if len(column) > 1 and len(set(column)) == 1 and "[" not in column[0]
    }
    kept = [(title, column) for title, column in columns if title not in same]
    lines = [
        Line(heading=heading, name=name, cells=[column[place] for _, column in kept])
        for place, (heading, name) in enumerate(names(scores))
    ]
    yield from tables("", [title for title, _ in kept], lines, width)
    told = "; ".join(f"{' '.join(title.lower().split())} {cell}" for title, cell in same.items())
    yield from notes.lines(f"In every row: {told}." if told else "", width)
    yield from missing_of_rows(scores, width)
    yield from comparisons_of_tasks(compared, width)


def names(scores: Sequence[Row]) -> list[tuple[str, str]]:
    """Returns for each row of the scorecard the heading that it stands under and its name: what several rows share is above."""
    tasks = [f"{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}" for row in scores]
    models = [cut(row["model_id"], NAME) for row in scores]
    if len(set(models)) == 1:
        return list(zip(models, tasks, strict=True))
    return list(zip(tasks, models, strict=True))


def _heading(measure: MartColumn) -> str:
    if measure.compact == "figure":
        return measure.label.replace(" ", "\n")
    return measure.label or measure.name


def size(row: Row) -> str:
    """Returns how many samples a row is of, and under how many wordings each was asked; `39 of 40` where some are not."""
    samples = counted_of(row["n_samples"], row.get("n_samples_planned"))
    breaking = f", {count(row['n_variants_breaking'])} break" if row["n_variants_breaking"] else ""
    return f"{samples} × {counted_of(row['n_variants_answered'], row['n_variants'])}{breaking}"


def _cell(row: Row, measure: MartColumn, notes: Footnotes, kind: str) -> str:
    figure = in_unit(row[measure.name], measure.unit)
    if figure == ABSENT:
        return f"{figure}{notes.mark(why_no_figure(row, measure.name, kind))}"
    if measure.compact == "figure":
        return figure
    low, high = (row[measure.estimate + end] for end in ENDS)
    return f"{figure} {interval(low, high)}".rstrip()
