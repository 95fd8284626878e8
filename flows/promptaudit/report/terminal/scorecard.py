"""Prints the scorecard, one row per model, task and strategy, as plain rows and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptaudit.registry.mart_columns import ENDS, MartColumn, compact_measures, mart_columns
from promptaudit.report.ask_copy import rows
from promptaudit.report.blocks.blocks import by
from promptaudit.report.queries import query
from promptaudit.report.sections.answers import AS_MODAL, AS_NA, BOUNDED, bounded, lacking, n_unanswered
from promptaudit.report.sections.rule_against_judge import VERIFIED, findings
from promptaudit.report.sections.words import why_no_figure
from promptaudit.report.terminal.tables import Footnotes, Line, TextTable, printed
from promptaudit.system.display.figures import (
    ABSENT,
    NAME,
    count,
    counted_of,
    cut,
    in_unit,
    interval,
    number,
    percent,
    ranged,
    share,
    share_interval,
)
from promptaudit.warehouse import Row, Warehouse

if TYPE_CHECKING:
    from rich.console import RenderableType

SIZE = "samples ×\nvariants"


def scorecard_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Reads a run's rows of marts.rpt_audit at full precision, by task, strategy and model; empty if it is unknown."""
    return rows(warehouse, query("scorecard"), audit_run_id)


def comparison_rows(warehouse: Warehouse, audit_run_id: str) -> list[dict[str, Any]]:
    """Reads a run's rows of marts.rpt_rule_against_judge at full precision, by task, model, rule and judge.

    `accuracy_std_rule` and `accuracy_std_judge` are added: the published standard deviations (ddof 1) of the
    accuracies.
    """
    return rows(warehouse, query("comparisons"), audit_run_id)


def scorecard(warehouse: Warehouse, audit_run_id: str, width: int) -> RenderableType:
    """Prints the scorecard for a terminal of a width, and under it each task's rules against its judges, and fields."""
    from rich.console import Group

    kinds = {row["task_id"]: row["kind"] for row in rows(warehouse, query("tasks"), audit_run_id)}
    scores, compared = scorecard_rows(warehouse, audit_run_id), comparison_rows(warehouse, audit_run_id)
    fields = rows(warehouse, query("fields"), audit_run_id)
    of_fields = [line for table in _fields(fields) for line in printed(table, width)]
    return Group(*drawn(scores, compared, width, kinds), *of_fields)


def drawn(
    scores: list[Row], compared: list[Row], width: int, kinds: Mapping[str, str] | None = None
) -> Iterator[RenderableType]:
    """Yields the parts of the scorecard.

    Each dash has the number of a footnote that gives the reason.

    A column with the same value in every row becomes a sentence.
    """
    if not scores:
        yield "no figures yet: nothing of this run has been measured"
        return
    notes = Footnotes()
    columns = [(SIZE, list(map(size, scores)))]
    for measure in compact_measures():
        heading = measure.label.replace(" ", "\n") if measure.compact == "figure" else measure.label or measure.name
        cells = [_cell(row, measure, notes, (kinds or {}).get(row["task_id"], "")) for row in scores]
        columns.append((heading, cells))
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
    yield from printed(TextTable(columns=[title for title, _ in kept], lines=lines), width)
    shared = "; ".join(f"{' '.join(title.lower().split())} {cell}" for title, cell in same.items())
    yield from notes.lines(f"In every row: {shared}." if shared else "", width)
    for table in (*missing_answers(scores), *_comparisons(compared)):
        yield from printed(table, width)


def names(scores: Sequence[Row]) -> list[tuple[str, str]]:
    """Lists a heading and a name for each row. The heading is task and strategy, or the model if there is only one."""
    tasks = [f"{cut(row['task_id'], NAME)} · {cut(row['strategy'], NAME)}" for row in scores]
    models = [cut(row["model_id"], NAME) for row in scores]
    if len(set(models)) == 1:
        return list(zip(models, tasks, strict=True))
    return list(zip(tasks, models, strict=True))


def size(row: Row) -> str:
    """Counts a row's samples and the wordings each was asked under; `39 of 40` if some are missing."""
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


# the bounds of measures if some asks were not answered

MISSING = "Missing answers: measures with all of them N/A, and behind the stroke with all of them the sample's commonest label."


def missing_answers(scores: list[Row]) -> list[TextTable]:
    """Makes the table of rows of marts.rpt_audit with their bounds, if some asks were not answered."""
    lines = [Line(heading=_under(row, "task_id"), name=row["model_id"], cells=_bounds(row)) for row in lacking(scores)]
    columns = ["Unanswered", *(mart_columns("rpt_audit")[name].label for name in BOUNDED)]
    return [TextTable(columns=columns, lines=lines, intro=MISSING)] if lines else []


def _under(row: Row, name: str) -> str:
    return f"{cut(row[name], NAME)} · {cut(row['strategy'], NAME)}"


def _bounds(row: Row) -> list[str]:
    cells = dict.fromkeys(BOUNDED, ABSENT)
    for column in bounded(row):
        cells[column.name] = " / ".join(in_unit(row[f"{column.name}_{end}"], column.unit) for end in (AS_NA, AS_MODAL))
    return [count(n_unanswered(row)), *cells.values()]


# the fields of extraction, a table a task

OF_FIELDS = ("accuracy", "sensitivity", "pss_inter")
MOST_FIELDS = 30  # rows a task


def _fields(fields: Sequence[Row]) -> Iterator[TextTable]:
    columns = [mart_columns("fct_field_stability")[name].label for name in OF_FIELDS]
    for task_id, own in by(fields, "task_id").items():
        lines = []
        for row in own[:MOST_FIELDS]:
            cells = [ranged(row[name], *(row[name + end] for end in ENDS)) for name in OF_FIELDS]
            lines.append(Line(heading=_under(row, "model_id"), name=cut(row["field"], NAME), cells=cells))
        title = f"fields: {cut(task_id, NAME)}"
        yield TextTable(columns=columns, lines=lines, title=title, below=_rest(len(own), MOST_FIELDS))


def _rest(n: int, most: int) -> list[str]:
    return [f"the first {most} of {n} rows; the report has the rest"] if n > most else []


# rule against judge: what is found in each task, the figures behind it, and how often the judge errs

COMPARED = ("Accuracy, rule", "Accuracy, judge", "Corrected spread, rule", "Corrected spread, judge", "Share removed")
MOST_COMPARED = 20  # rows a task


def _comparisons(compared: list[Row]) -> Iterator[TextTable]:
    for task_id, own in by(compared, "task_id").items():
        lines = []
        for row in own[:MOST_COMPARED]:
            name = f"{cut(row['rule'], NAME)} · {cut(row['judge'], NAME)}"
            lines.append(Line(heading=cut(row["model_id"], NAME), name=name, cells=_compared(row)))
        found = [f"{phrase}: {who}" for phrase, who in findings(own)]
        judges = [vouching(of_judge[0]) for of_judge in by(own, "judge").values()]
        below = [*_rest(len(own), MOST_COMPARED), *found, *judges]
        yield TextTable(columns=COMPARED, lines=lines, title=f"rule against judge: {cut(task_id, NAME)}", below=below)


def _compared(row: Row) -> tuple[str, ...]:
    def accuracy(who: str) -> str:
        std = row[f"accuracy_std_{who}"]
        return number(row[f"accuracy_{who}"]) + ("" if std is None else f" ± {number(std)}")

    judged = accuracy("judge")
    if row["accuracy_rectified"] is not None:
        around = interval(row["accuracy_rectified_low"], row["accuracy_rectified_high"])
        judged = f"{judged} rectified {number(row['accuracy_rectified'])} {around}"

    def spread(who: str) -> str:
        name = f"spread_{who}"
        return f"{number(row[name])} {interval(row[f'{name}_low'], row[f'{name}_high'])}".rstrip()

    removed = [share(row["share_removed"]), share_interval(row["share_removed_low"], row["share_removed_high"])]
    if row["share_removed"] is None:
        removed = [ABSENT]
    if row["judge_state"] != VERIFIED:
        removed.append("unverified")
    elif row["share_removed_rectified"] is not None:
        removed.append(f"rectified {share(row['share_removed_rectified'])}")
    return accuracy("rule"), judged, spread("rule"), spread("judge"), " ".join(removed).rstrip()


def vouching(row: Row) -> str:
    """Says in a line what is known of a judge's own errors."""
    rates = [
        f"{kind} {percent(row[f'error_rate_{kind}'])}"
        for kind in ("right", "wrong", "blank", "injected")
        if row[f"error_rate_{kind}"] is not None
    ]
    line = f"{cut(row['judge'], NAME)}: wrong on controls: {', '.join(rates) or 'none shown'}"
    if row["judge_state"] != VERIFIED:
        return f"{line}; judge_unverified: its own errors may remove spread too"
    return f"{line}; {count(row['n_ruled'])} answers that people ruled on take its own errors out"
