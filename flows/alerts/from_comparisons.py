"""Turns the rows of marts.rpt_run_comparisons into problems: what is worse tonight, its figures in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from flows.alerts.alarms import Place, Problem
from flows.display.figures import in_unit, moved
from models_registry.mart_columns import compared_unit


def problems_of(
    rows: Iterable[Mapping[str, Any]],
    against: Mapping[str, Literal["last_night", "baseline", "alarm"]],
) -> tuple[list[Problem], dict[Place, str]]:
    """Returns what is worse than last night or a baseline, in the order of the rows, and the verdict of every comparison.

    Consistency raises no alarm by itself, since noise raises it and a model that is mended loses it: it is told beside
    another measure of its group that regressed.

    `against` is what each base run is. One that is only an open alarm's gives verdicts, by place (model, task, strategy,
    measure, base run) as `flows.alerts.alarms.changes` takes them, and no problems: what is worse than it stands already.
    """
    problems, verdicts, rows = [], {}, list(rows)
    worse = {_group(row) for row in rows if row["verdict"] == "regressed" and row["measure"] != "consistency"}
    for row in rows:
        base = row["base_run_id"]
        verdicts[row["model_id"], row["task_id"], row["strategy"], row["measure"], base] = row["verdict"]
        reference = against[base]
        if row["verdict"] not in ("regressed", "changed"):
            continue
        if reference == "alarm":
            continue
        if row["measure"] == "consistency" and _group(row) not in worse:
            continue
        problems.append(
            Problem(
                kind=row["verdict"], summary=summary(row), reason=row["reason"], cause=row["cause"],
                model_id=row["model_id"], task_id=row["task_id"], strategy=row["strategy"], measure=row["measure"],
                base_run_id=base, against=reference,
            )
        )  # fmt: skip
    return problems, verdicts


def _group(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["model_id"], row["task_id"], row["strategy"], row["base_run_id"]


def summary(row: Mapping[str, Any]) -> str:
    """Returns a comparison's figures in one line: `0.081 → 0.143, +0.062 [+0.041, +0.083], q 0.001`; what is NULL is left out."""
    return ", ".join(figures_of(row))


def figures_of(row: Mapping[str, Any]) -> list[str]:
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
            parts.append(f"{name} {value:.2g}")
            break
    return parts


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
