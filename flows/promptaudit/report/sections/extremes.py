"""Finds the least and the largest figure among rows of a mart, and says whose they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptaudit.report.data import ReportData
from promptaudit.system.display.figures import cut, number
from promptaudit.warehouse import Row

NAME = 60  # characters of a name in a sentence


def known_rows(data: ReportData, rows: Iterable[Row], column: str) -> list[Row]:
    """Returns the rows that have a figure, of models that are audited where there are any."""
    known = [row for row in rows if row.get(column) is not None]
    references = {row["model_id"] for row in data.references}
    return [row for row in known if row.get("model_id") not in references] or known


def group(row: Row) -> tuple[str, ...]:
    """Returns the model, task, strategy and scoring method of a row, as far as it has them."""
    return tuple(row[name] for name in ("model_id", "task_id", "strategy", "scoring_method") if name in row)


def by_group(rows: Iterable[Row]) -> list[list[Row]]:
    """Returns the rows of each group."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    return list(groups.values())


def largest(rows: Sequence[Row], column: str) -> Row | None:
    """Returns the row with the largest figure; None of no rows."""
    return max(rows, key=lambda row: row[column], default=None)


def smallest(rows: Sequence[Row], column: str) -> Row | None:
    """Returns the row with the least figure; None of no rows."""
    return min(rows, key=lambda row: row[column], default=None)


def whose(row: Row, *names: str) -> str:
    """Returns whose a row is: its model, task and strategy, or the names that are given."""
    return ", ".join(
        cut(row[name], NAME) for name in names or ("model_id", "task_id", "strategy") if row.get(name) is not None
    )


def ends(data: ReportData, what: str, rows: Iterable[Row], column: str, *names: str) -> str:
    """Returns the least and the largest known figure and whose they are, in a sentence; nothing where there is none."""
    known = known_rows(data, rows, column)
    least, most = smallest(known, column), largest(known, column)
    if least is None or most is None:
        return ""
    if least is most:
        return f"{what} {number(least[column])} for {whose(least, *names)}"
    return f"{what} {number(least[column])} ({whose(least, *names)}) to {number(most[column])} ({whose(most, *names)})"


def means_of(rows: Sequence[Row], name: str, column: str) -> dict[str, float]:
    """Returns the mean of a figure for each value of another column."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row[name], []).append(row[column])
    return {key: sum(own) / len(own) for key, own in values.items()}


def class_of(row: Row) -> str:
    """Returns the class that a row is of, in words."""
    return f"Class {cut(row['gold_label'], NAME)}"
