"""Rule against judge for a terminal: what is found in each task, the figures behind it, and how often the judge errs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptaudit.report.blocks.blocks import by
from promptaudit.report.sections.rule_against_judge import VERIFIED, findings
from promptaudit.report.terminal.tables import Line, tables
from promptaudit.system.display.figures import (
    ABSENT,
    NAME,
    count,
    cut,
    interval,
    number,
    percent,
    share,
    share_interval,
)
from promptaudit.warehouse import Row

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("Accuracy, rule", "Accuracy, judge", "Corrected spread, rule", "Corrected spread, judge", "Share removed")
MOST = 20  # rows a task


def comparisons_of_tasks(compared: list[Row], width: int) -> Iterator[RenderableType]:
    """Gives what stands under the scorecard, task by task: rows of marts.rpt_rule_against_judge, findings, and the judges."""
    from rich.text import Text

    for task_id, rows in by(compared, "task_id").items():
        yield Text(f"\nrule against judge: {cut(task_id, NAME)}", style="bold")
        yield from tables("", COLUMNS, [_line(row) for row in rows[:MOST]], width)
        if len(rows) > MOST:
            yield Text(f"the first {MOST} of {len(rows)} rows; the report has the rest")
        for phrase, who in findings(rows):
            yield Text(f"{phrase}: {who}")
        for judge in dict.fromkeys(row["judge"] for row in rows):
            yield Text(vouching(next(row for row in rows if row["judge"] == judge)))


def _line(row: Row) -> Line:
    name = f"{cut(row['rule'], NAME)} · {cut(row['judge'], NAME)}"
    return Line(heading=cut(row["model_id"], NAME), name=name, cells=cells(row))


def cells(row: Row) -> tuple[str, ...]:
    """Returns a row's printed figures in the order of COLUMNS, each with its interval or standard deviation."""

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
    """Returns what is known of a judge's own errors, in a line."""
    rates = [
        f"{kind} {percent(row[f'error_rate_{kind}'])}"
        for kind in ("right", "wrong", "blank", "injected")
        if row[f"error_rate_{kind}"] is not None
    ]
    line = f"{cut(row['judge'], NAME)}: wrong on controls: {', '.join(rates) or 'none shown'}"
    if row["judge_state"] != VERIFIED:
        return f"{line}; judge_unverified: its own errors may remove spread too"
    return f"{line}; {count(row['n_ruled'])} answers that people ruled on take its own errors out"
