"""Reads what an audit can be planned from: a run of it, and the components of variance of a measure in each group of answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flows.warehouse import Warehouse
from flows.warehouse.run_names import resolve
from flows.warehouse.sql import over, sql
from models_registry.errors import DataError, UsageError, nearest
from models_registry.registry import Registry
from udfs.designs.variance_components import (
    VarianceComponents,
    linear_components,
    sensitivity_bias,
    sensitivity_components,
)
from udfs.designs.widths import Kind

MEASURES = ("micro_f1", "accuracy", "invalid_rate", "sensitivity")
LEAST_SAMPLES, LEAST_WORDINGS = 60, 8
GROUP = ("model_id", "task_id", "strategy")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """The run that an audit is planned from; a pilot is one that is not complete yet."""

    audit_run_id: str
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGroup:
    """The answers of one model to one task under one strategy, by one scoring method where the measure has several.

    Attributes:
        model_id: of the card.
        task_id: of the card.
        strategy: how the instruction is dressed.
        scoring_method: of accuracy; None of other measures.
        n_repetitions: the number of asks that most of its cells have.
        components: of the measure.
        bias_of_one_wording: the plain sensitivity of n wordings lies this divided by n below that of endless wordings; at
            most 0, and 0 of other measures.
    """

    model_id: str
    task_id: str
    strategy: str
    scoring_method: str | None
    n_repetitions: int
    components: VarianceComponents
    bias_of_one_wording: float = 0.0

    @property
    def name(self) -> str:
        """Returns what a line calls it."""
        method = "" if self.scoring_method is None else f", {self.scoring_method}"
        return f"model '{self.model_id}', task '{self.task_id}', {self.strategy}{method}"


def kind_of(measure: str) -> Kind:
    """Returns whether a measure is a mean of single answers or sensitivity; raises UsageError for another measure."""
    if measure not in MEASURES:
        msg = f"--measure {measure}: planned are {', '.join(MEASURES)}{nearest(measure, MEASURES)}"
        raise UsageError(msg)
    return "sensitivity" if measure == "sensitivity" else "linear"


def source_run(warehouse: Warehouse, audit_id: str, name: str | None) -> SourceRun:
    """Returns the run that is named, else the newest of an audit that is complete or a pilot.

    Raises:
        DataError: the audit has no such run yet.
        UsageError: the name is no run's.
    """
    runs = []
    if warehouse.published.exists():
        rows = warehouse.published.read(sql("audit", "runs_to_plan_from"), audit_id=audit_id)
        runs = [SourceRun(audit_run_id=row["audit_run_id"], is_complete=row["is_complete"]) for row in rows]
    if name is not None:
        named = [run for run in runs if run.audit_run_id.startswith(name)]
        if len(named) == 1:
            return named[0]
        found = resolve(warehouse, name)
        if found.audit_id != audit_id:
            msg = f"--from {name}: run {found.audit_run_id} is of audit '{found.audit_id}', not of '{audit_id}'"
            raise UsageError(msg)
        return SourceRun(audit_run_id=found.audit_run_id, is_complete=True)
    if not runs:
        msg = (
            f"{warehouse.published.path} has no answers to audit '{audit_id}' to plan from: `promptaudit run {audit_id} "
            f"--pilot` asks {LEAST_SAMPLES} samples under {LEAST_WORDINGS} wordings"
        )
        raise DataError(msg)
    return runs[0]


def answer_groups(
    warehouse: Warehouse, run: SourceRun, registry: Registry, audit_id: str, measure: str
) -> list[AnswerGroup]:
    """Returns the groups of a run's answers that the audit's card still asks for, each with the components of a measure.

    Raises DataError for a run without the measure, and for one of too few samples or wordings in some group.
    """
    audit = registry.audit(audit_id)
    models, tasks = registry.models_of(audit_id), audit.tasks
    is_gated = run.is_complete or audit.format.policy != "quarantine"
    values: dict[str, object] = {
        "run": run.audit_run_id,
        "max_invalid_rate": 1.0 if is_gated else audit.format.max_invalid_rate,
    }
    if measure == "sensitivity":
        query = sql("audit", "labels_to_plan_from")
    else:
        query, values["measure"] = sql("audit", "cells_to_plan_from"), measure
    query = over(query, answers_to_plan_from=sql("audit", "answers_to_plan_from"))
    cells = warehouse.published.frame(query, **values)
    cells = cells.filter(pl.col("model_id").is_in(models), pl.col("task_id").is_in(tasks))
    groups = list(_groups(cells, measure, run, audit_id))
    if not groups:
        why = "no gold labels" if measure == "micro_f1" else "no answers that it is a measure of"
        others = ", ".join(each for each in MEASURES if each != measure)
        msg = f"--measure {measure}: run {run.audit_run_id} has {why}; plan for another of {others}"
        raise DataError(msg)
    return groups


def _groups(cells: pl.DataFrame, measure: str, run: SourceRun, audit_id: str) -> Iterator[AnswerGroup]:
    names = [*GROUP, *(["scoring_method"] if "scoring_method" in cells.columns else [])]
    for key, own in cells.partition_by(names, as_dict=True, maintain_order=True).items():
        name = dict(zip(names, key, strict=True))
        n_samples, n_wordings = own["sample_id"].n_unique(), own["wording"].n_unique()
        if n_samples < LEAST_SAMPLES or n_wordings < LEAST_WORDINGS:
            msg = (
                f"run {run.audit_run_id} has {n_samples} samples x {n_wordings} wordings of task '{name['task_id']}' under "
                f"model '{name['model_id']}', and a plan needs {LEAST_SAMPLES} x {LEAST_WORDINGS}: `promptaudit run "
                f"{audit_id} --pilot` asks them, where the card's samples.limit and rephrasing allow as many"
            )
            raise DataError(msg)
        yield _sensitivity(own, name) if measure == "sensitivity" else _linear(own, name)


def _linear(cells: pl.DataFrame, name: dict[str, Any]) -> AnswerGroup:
    components = linear_components(
        _codes(cells["sample_id"]),
        _codes(cells["wording"]),
        cells["mean"].to_numpy(),
        cells["within"].fill_null(np.nan).to_numpy(),
        cells["n_asks"].to_numpy(),
    )
    return AnswerGroup(**name, n_repetitions=_commonest(cells["n_asks"]), components=components)


def _sensitivity(cells: pl.DataFrame, name: dict[str, Any]) -> AnswerGroup:
    label = cells["label"].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    n_classes = int(cells["n_classes"][0])
    table = (_codes(cells["sample_id"]), _codes(cells["wording"]), label, cells["p"].to_numpy(), n_classes)
    return AnswerGroup(
        **name,
        scoring_method=None,
        n_repetitions=_commonest(cells.unique(["sample_id", "wording"])["n_asks"]),
        components=sensitivity_components(*table),
        bias_of_one_wording=sensitivity_bias(*table, 1),
    )


def _codes(column: pl.Series) -> NDArray[np.int64]:
    return (column.rank("dense").cast(pl.Int64) - 1).to_numpy()


def _commonest(column: pl.Series) -> int:
    counts = column.value_counts().sort("count", column.name, descending=[True, False])
    return int(counts[column.name][0])
