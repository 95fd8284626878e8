"""Turns what is told of a night, and of comparisons with baselines, into problems: what is worse, its figures in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from promptaudit.flows.alerts.alarms import Against, Alarm, Place, Problem
from promptaudit.flows.display.figures import in_unit, moved
from promptaudit.flows.display.movement import by_chance, in_words, why
from promptaudit.models_registry.mart_columns import compared_unit

Row = Mapping[str, Any]
WORSE = ("regressed", "changed")
COSTS = ("cost_usd", "latency_ms")


def problems_of(rows: Iterable[Row], against: Against = "baseline") -> tuple[list[Problem], dict[Place, str]]:
    """Returns what is worse than a baseline, or dearer than on a normal night, in the order of the rows, and every verdict.

    Consistency raises no alarm by itself, since noise raises it and a model that is mended loses it: it is told beside
    another measure of its group that regressed. Verdicts are by place (model, task, strategy, measure, base run) as
    `promptaudit.flows.alerts.alarms.changes` takes them.
    """
    problems, verdicts, rows = [], {}, list(rows)
    worse = {_group(row) for row in rows if row["verdict"] == "regressed" and row["measure"] != "consistency"}
    for row in rows:
        verdicts[*_names(row), row["measure"], row["base_run_id"]] = row["verdict"]
        if row["verdict"] in WORSE and (row["measure"] != "consistency" or _group(row) in worse):
            problems.append(_problem(row, row["base_run_id"], row["base_run_id"], against))
    return problems, verdicts


def problems_of_night(rows: Iterable[Row], alarms: Iterable[Alarm]) -> tuple[list[Problem], dict[Place, str]]:
    """Returns what is worse than on normal nights, and the verdict of every measure that is in an alarm, or was in an open one.

    `rows` are those of marts.rpt_night_verdicts. An alarm of nights is known by its first night, in the place of a base run. One
    whose measure is in no alarm any more was accepted, or what is asked changed. Where an alarm became much worse, another
    begins with that night in its place, and so is told.
    """
    problems, verdicts, tonight = [], {}, {}
    for row in rows:
        tonight[*_names(row), row["measure"]] = row["verdict"]
        if row["since_run_id"] is None:
            continue
        began = first_night(row)
        verdicts[*_names(row), row["measure"], row["since_run_id"]] = "worse_since"
        verdicts[*_names(row), row["measure"], began] = row["verdict"]
        if row["verdict"] in WORSE:
            problems.append(_problem(row, began, row["normal_run_id"], "normal_nights"))
    for alarm in alarms:
        if (
            alarm.key.is_compared
            and alarm.key.place not in verdicts
            and alarm.key.place[:4] in tonight
            and not is_cost(alarm)
        ):
            verdicts[alarm.key.place] = "accepted"
    return problems, verdicts


def first_night(row: Row) -> str | None:
    """Returns the run that an alarm is known by: of its first night, or of the first on which it was much worse than before."""
    known: str | None = row.get("worse_since_run_id") or row["since_run_id"]
    return known


def is_cost(alarm: Alarm) -> bool:
    """Returns whether an alarm is of what a run of answers cost, which is held against one normal night."""
    return alarm.key.measure in COSTS


def _problem(row: Row, base: str | None, normal: str | None, against: Against) -> Problem:
    return Problem(
        kind=row["verdict"],
        summary=summary(row),
        reason=why(row),
        moved=in_words(row),
        cause=row["cause"],
        model_id=row["model_id"],
        task_id=row["task_id"],
        strategy=row["strategy"],
        measure=row["measure"],
        base_run_id=base,
        compare_with=normal,
        against=against,
    )


def _names(row: Row) -> tuple[Any, ...]:
    return row["model_id"], row["task_id"], row["strategy"]


def _group(row: Row) -> tuple[Any, ...]:
    return *_names(row), row["base_run_id"]


def summary(row: Row) -> str:
    """Returns a comparison's figures in one line: `0.081 → 0.143, +0.062 [+0.041, +0.083], by chance 1 time in 1,000`.

    What is NULL is left out.
    """
    return ", ".join(figures_of(row))


def figures_of(row: Row) -> list[str]:
    """Returns from what to what a measure went, by how much with its interval, and how sure that is, without what is NULL.

    q is of the family of one pair of runs; a measure outside it (label_churn) gives its own p.
    """
    unit = compared_unit(row["measure"])
    parts = [f"{in_unit(row['base'], unit)} → {in_unit(row['candidate'], unit)}"]
    if _is_known(row["difference"]):
        parts.append(moved(row["difference"], row["difference_low"], row["difference_high"], unit))
    for name in ("q", "p"):
        value = row[f"{name}_value"]
        if _is_known(value):
            parts.append(by_chance(value))
            break
    return parts


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
