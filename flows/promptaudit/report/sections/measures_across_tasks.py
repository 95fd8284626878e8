"""The section across tasks: each measure of the scorecard by task, strategy and model, the best of a task in bold."""

from __future__ import annotations

from collections.abc import Sequence

from promptaudit.registry.mart_columns import mart_columns
from promptaudit.report.blocks.blocks import DrawnSection, Table, by
from promptaudit.report.blocks.cells import Printed, Traced
from promptaudit.report.data import ReportData
from promptaudit.report.sections.extremes import known_rows, means_of
from promptaudit.report.sections.pivots import Pivot, n_tasks, pivoted
from promptaudit.report.sections.room import Room
from promptaudit.report.sections.section import Section
from promptaudit.system.display.figures import NAME, cut, number
from promptaudit.warehouse import Row

MART, OF_RUN = "rpt_measures_across_tasks", "rpt_sensitivity_against_consistency"
UNREADABLE = "†"
LEAST_CELLS = 3
_HEADS = {"Task": "task_id", "Strategy": "strategy"}


def _fill(section: DrawnSection, data: ReportData, _room: Room) -> None:
    rows = [row for row in data["measures_across_tasks"] if row["value"] is not None]
    has_sets = any(row["best_of_sets"] for row in rows)
    rows = [{**row, "has_sets": has_sets} for row in rows]
    if n_tasks(rows) < 2:  # noqa: PLR2004 - a table of one task is the scorecard
        return
    block = section.add()
    block.notes += [_correlation(row) for row in data["correlation_across_tasks"]]
    if len({row["model_id"] for row in rows}) == 1:
        block.tables.append(_of_one_model(rows))
    else:
        block.tables += [pivoted(_pivot(measure, own), own) for measure, own in by(rows, "measure").items()]


def _of_one_model(rows: Sequence[Row]) -> Table:
    """One table, whose columns are the measures."""
    labelled = [{**row, "label": _label(row["measure"]), "is_reference": False} for row in rows]
    caption = f"Measures of {cut(rows[0]['model_id'], NAME)}, ± standard deviation"
    note = " ".join(filter(None, (_best(rows), _unread(rows))))
    return pivoted(
        Pivot(caption=caption, heads=_HEADS, across="label", cell=_cell, file="measures", note=note), labelled
    )


def _label(measure: str) -> str:
    return mart_columns("rpt_audit")[measure].label


def _pivot(measure: str, rows: Sequence[Row]) -> Pivot:
    has_std = any(row["value_std"] is not None for row in rows)
    spread = ", ± standard deviation" if has_std else ""
    return Pivot(
        caption=f"{_label(measure)}{spread}; {rows[0]['direction']} is better",
        heads=_HEADS,
        cell=_cell,
        file=measure,
        note=_note(rows),
        is_open=has_std,  # PSS has a section across tasks of its own
    )


def _note(rows: Sequence[Row]) -> str:
    apart = _of_other_numbers(rows)
    references = ", ".join(dict.fromkeys(cut(row["model_id"], NAME) for row in rows if row["is_reference"]))
    aside = f"Models that answer at random or with errors on purpose ({references}) are not compared."
    return " ".join(filter(None, (_best(rows), apart, aside if references else "", _unread(rows))))


def _best(rows: Sequence[Row]) -> str:
    if not any(map(_is_best, rows)):
        return ""
    sets = sorted({name for row in rows for name in row["best_of_sets"]})
    of_sets = " and ".join(f"of {cut(name, NAME)}" for name in sets) or "of all models"
    return (
        f"The best of each task, over models and strategies, {of_sets} is in bold; several are where figures are equal."
    )


def _of_other_numbers(rows: Sequence[Row]) -> str:
    """That no sensitivity of a task is the best where models were measured by other numbers of wordings."""
    tasks = by([row for row in rows if not row["is_reference"]], "task_id")
    if not rows[0]["measure"].startswith("sensitivity") or not any(
        len({row["n_variants_measured"] for row in task}) > 1 and not any(map(_is_best, task))
        for task in tasks.values()
    ):
        return ""
    return "A task has no best where it was measured with different numbers of wordings, since sensitivity grows with them."


def _unread(rows: Sequence[Row]) -> str:
    if all(row["is_readable"] for row in rows):
        return ""
    return (
        f"{UNREADABLE} is not to be read: its sensitivity is below .05, and answers that hardly vary are alike whatever "
        "their class."
    )


def _is_best(row: Row) -> bool:
    """Of its task, in a set of models; or of all models where the audit names no sets."""
    return bool(row["best_of_sets"]) if row["has_sets"] else row["is_best"]


def _cell(row: Row) -> Printed:
    of = Traced(MART, row)
    mark = "" if row["is_readable"] else UNREADABLE
    value = of.number("value", mark=mark, is_strong=_is_best(row))
    return value if row["value_std"] is None else (value, " ± ", of.number("value_std"))


def _correlation(row: Row) -> Printed:
    of = Traced(OF_RUN, row)
    where = ("of tasks, models and strategies whose sensitivity is ", of.number("min_sensitivity", 2), " or more")
    if row["pearson"] is None:
        few = row["n_cells"] < LEAST_CELLS
        why = f"it needs {LEAST_CELLS} of them" if few else "one of the two does not vary"
        return (
            "Sensitivity and consistency have no correlation over the ",
            of.count("n_cells"),
            " cells ",
            *where,
            f": {why}.",
        )
    return (
        "Over the ",
        of.count("n_cells"),
        " cells ",
        *where,
        ", Pearson's correlation of sensitivity and consistency is ",
        of.number("pearson"),
        ". Reference models are left out.",
    )


def _finding(data: ReportData) -> str:
    rows = known_rows(data, data.scorecard, "sensitivity")
    means = means_of(rows, "task_id", "sensitivity")
    if len(means) < 2:  # noqa: PLR2004 - one task is the least and the most sensitive
        return ""
    least, most = min(means, key=lambda name: means[name]), max(means, key=lambda name: means[name])
    return (
        f"{cut(most, NAME)} is the most sensitive of {len(means)} tasks, {number(means[most])} on average, "
        f"{cut(least, NAME)} the least, {number(means[least])}"
    )


measures_across_tasks = Section(
    name="measures_across_tasks",
    title="Across tasks",
    intro="The scorecard by task, strategy and model, with one table for each measure.",
    fill=_fill,
    finding=_finding,
    queries=("correlation_across_tasks", "measures_across_tasks"),
    is_optional=True,
)
