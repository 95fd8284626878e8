"""Reads what an audit can be planned from: a run, and variance components of a measure by group of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from promptaudit.plan.grid import LEAST_SAMPLES, LEAST_WORDINGS
from promptaudit.registry.errors import DataError, UsageError, refuse_unknown
from promptaudit.registry.registry import Registry
from promptaudit.system.display.compared import OfUnit
from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.designs.bias import sensitivity_bias
from promptaudit.udfs.designs.variance_components import VarianceComponents, linear_components, sensitivity_components
from promptaudit.udfs.designs.widths import Kind
from promptaudit.udfs.measures.breaking_wordings import breaking_wordings
from promptaudit.warehouse import Published, Warehouse
from promptaudit.warehouse.run_names import resolve
from promptaudit.warehouse.sql import over, sql

MEASURES = ("micro_f1", "accuracy", "invalid_rate", "sensitivity")
GROUP = ("model_id", "task_id", "strategy")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """Describes the run that an audit is planned from; a pilot is not complete yet, and so not published."""

    audit_run_id: str
    is_complete: bool
    started_at: datetime
    run_index: int

    def place(self, warehouse: Warehouse) -> Warehouse | Published:
        """Picks where its answers are read: the published copy, or for a pilot the warehouse."""
        return warehouse.published if self.is_complete else warehouse

    def kept_open(self, warehouse: Warehouse) -> AbstractContextManager[object]:
        """Keeps that place open between the queries inside."""
        return warehouse.published.connect() if self.is_complete else warehouse.kept_open()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGroup(OfUnit):
    """Describes the answers of one model to one task under one strategy, by one scoring method if there are several.

    Attributes:
        scoring_method: of accuracy; None for other measures.
        n_repetitions: the number of asks that most of its cells have.
        n_wordings_asked: how many wordings it was asked under, with the wordings that break.
        breaking: the wordings that break, which the components leave out: prompt variant, working rate, and the rate of
            the other wordings.
        components: of the measure.
        bias_of_one_wording: the plain sensitivity of n wordings lies this divided by n below the sensitivity of endless
            wordings; at most 0, and 0 for other measures.
    """

    scoring_method: str | None
    n_repetitions: int
    n_wordings_asked: int
    breaking: tuple[tuple[str, float, float], ...]
    components: VarianceComponents
    bias_of_one_wording: float = 0.0

    @property
    def name(self) -> str:
        """Names the group in a line of a message."""
        method = "" if self.scoring_method is None else f", {self.scoring_method}"
        return f"model '{self.model_id}', task '{self.task_id}', {self.strategy}{method}"


class Least(NamedTuple):
    """Sets the fewest samples and wordings that components are computed from."""

    samples: int
    wordings: int


OF_A_PLAN = Least(LEAST_SAMPLES, LEAST_WORDINGS)


def kind_of(measure: str) -> Kind:
    """Sorts a measure as a mean of single answers or as sensitivity; raises UsageError for another measure."""
    refuse_unknown("--measure", measure, MEASURES, f"planned are {', '.join(MEASURES)}")
    return "sensitivity" if measure == "sensitivity" else "linear"


def source_run(warehouse: Warehouse, audit_id: str, name: str | None, origins: Sequence[str] = ("run",)) -> SourceRun:
    """Finds the run with this name, else the newest run of an audit that is a pilot or complete, of these origins.

    Raises:
        DataError: the audit has no such run yet.
        UsageError: no run has this name.
    """
    complete, pilots = _complete_runs(warehouse, audit_id, origins), _pilots(warehouse, audit_id)
    if name is not None:
        named = [run for run in (*complete, *pilots) if run.audit_run_id.startswith(name)]
        return named[0] if len(named) == 1 else _named(warehouse, audit_id, name, complete)
    newest = max((*complete, *pilots), key=lambda run: run.run_index, default=None)
    if newest is None:
        msg = (
            f"{warehouse} has no answers to audit '{audit_id}' to plan from: `promptaudit run {audit_id} --pilot` asks "
            f"{LEAST_SAMPLES} samples under {LEAST_WORDINGS} wordings"
        )
        raise DataError(msg)
    return newest


def _complete_runs(warehouse: Warehouse, audit_id: str, origins: Sequence[str]) -> list[SourceRun]:
    if not warehouse.published.exists():
        return []
    rows = warehouse.published.read(sql("plan", "complete_runs"), audit_id=audit_id, origins=list(origins))
    return [SourceRun(**row, is_complete=True) for row in rows]


def _pilots(warehouse: Warehouse, audit_id: str) -> list[SourceRun]:
    # open runs whose answers so far have been read
    if not warehouse.exists():
        return []
    with warehouse.kept_open():
        if not warehouse.read(sql("plan", "has_answers_read")):
            return []
        rows = warehouse.read(sql("plan", "pilots"), audit_id=audit_id)
    return [SourceRun(**row, is_complete=False) for row in rows]


def _named(warehouse: Warehouse, audit_id: str, name: str, complete: Sequence[SourceRun]) -> SourceRun:
    # for a name that is no run's id
    found = resolve(warehouse, name)
    if found.audit_id != audit_id:
        msg = f"--from {name}: run {found.audit_run_id} is of audit '{found.audit_id}', not of '{audit_id}'"
        raise UsageError(msg)
    run = next((run for run in complete if run.audit_run_id == found.audit_run_id), None)
    if run is None:
        msg = f"--from {name}: run {found.audit_run_id} was not asked by the audit; a plan is made from its own runs"
        raise UsageError(msg)
    return run


def answer_groups(
    warehouse: Warehouse,
    run: SourceRun,
    registry: Registry,
    audit_id: str,
    measure: str,
    least: Least = OF_A_PLAN,
) -> list[AnswerGroup]:
    """Groups a run's answers that the audit's card still asks for, and computes a measure's components for each group.

    Raises DataError for a run without the measure, and for too few samples, wordings or answers in some group.
    """
    audit = registry.audit(audit_id)
    models, tasks = registry.models_of(audit_id), audit.tasks
    values = {"run": run.audit_run_id}
    if measure != "sensitivity":
        values["measure"] = measure
    query = sql("plan", "labels_to_plan_from" if measure == "sensitivity" else "cells_to_plan_from")
    answers = sql("plan", "answers_to_plan_from")
    cells = run.place(warehouse).frame(over(query, answers_to_plan_from=answers), **values)
    cells = cells.filter(pl.col("model_id").is_in(models), pl.col("task_id").is_in(tasks))
    groups = list(_groups(cells, measure, run, audit_id, least))
    if not groups:
        others = ", ".join(each for each in MEASURES if each != measure)
        why = "no gold labels" if measure == "micro_f1" else "no answers that it is a measure of"
        msg = f"--measure {measure}: run {run.audit_run_id} has {why}; plan for another of {others}"
        raise DataError(msg)
    return groups


def _groups(cells: pl.DataFrame, measure: str, run: SourceRun, audit_id: str, least: Least) -> Iterator[AnswerGroup]:
    names = [*GROUP, *(["scoring_method"] if "scoring_method" in cells.columns else [])]
    for key, answered in cells.partition_by(names, as_dict=True, maintain_order=True).items():
        name = dict(zip(names, key, strict=True))
        n_samples, n_wordings = (answered[column].n_unique() for column in ("sample_id", "wording"))
        breaking = _breaking(answered, measure)
        own = answered.filter(~pl.col("wording").is_in([wording for wording, _, _ in breaking]))
        names_of = dict(answered.group_by("wording").agg(pl.col("prompt_variant_id").min()).iter_rows())
        if n_samples < least.samples or n_wordings < least.wordings:
            msg = _too_small(run, audit_id, name, Least(n_samples, n_wordings), least)
            raise DataError(msg)
        try:
            found = _sensitivity(own) if measure == "sensitivity" else _linear(own)
        except ValueError as error:
            msg = (
                f"run {run.audit_run_id} has {own.height} cells of {n_samples} samples x {n_wordings} wordings of task "
                f"'{name['task_id']}' under model '{name['model_id']}', too few to tell wordings from samples: pilot the audit"
            )
            raise DataError(msg) from error
        yield AnswerGroup(
            **{"scoring_method": None, **name, **found},
            # of equally common numbers the smallest
            n_repetitions=int(own.unique(["sample_id", "wording"])["n_asks"].mode().sort()[0]),
            n_wordings_asked=n_wordings,
            breaking=tuple((names_of[wording], rate, of_others) for wording, rate, of_others in breaking),
        )


def _breaking(cells: pl.DataFrame, measure: str) -> list[tuple[str, float, float]]:
    # under these wordings answers are right, valid or like the others' far less often; at most one in four
    if measure == "sensitivity":
        of_sample = pl.col("p").sum().over("sample_id", "label")
        n_others = pl.col("wording").n_unique().over("sample_id") - 1
        shared = cells.with_columns(worth=pl.col("p") * (of_sample - pl.col("p")) / n_others)
        worked = shared.group_by("sample_id", "wording", maintain_order=True).agg(pl.col("worth").sum())
    else:
        mean = pl.col("mean")
        worked = cells.select("sample_id", "wording", worth=1 - mean if measure == "invalid_rate" else mean)
    wordings = worked["wording"].unique().sort()
    found = breaking_wordings(_codes(worked["sample_id"]), _codes(worked["wording"]), worked["worth"].to_numpy())
    return [(wordings[each.variant], each.rate, each.of_others) for each in found if each.is_breaking]


def _too_small(run: SourceRun, audit_id: str, name: dict[str, Any], found: Least, least: Least) -> str:
    # says what gives more answers too
    of = f"of task '{name['task_id']}' under model '{name['model_id']}'"
    table = f"run {run.audit_run_id} has {found.samples} samples x {found.wordings} wordings"
    if least != OF_A_PLAN:
        return f"{table} {of}, and what cells vary by needs {least.samples} x {least.wordings}"
    return (
        f"{table} {of}, and a plan needs {LEAST_SAMPLES} x {LEAST_WORDINGS}: `promptaudit run {audit_id} --pilot` asks them, "
        f"where the card's samples.limit and rephrasing allow as many"
    )


def _linear(cells: pl.DataFrame) -> dict[str, Any]:
    components = linear_components(
        _codes(cells["sample_id"]),
        _codes(cells["wording"]),
        cells["mean"].to_numpy(),
        cells["within"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        cells["n_asks"].to_numpy(),
    )
    return {"components": components}


def _sensitivity(cells: pl.DataFrame) -> dict[str, Any]:
    n_classes = int(cells["n_classes"][0])
    label = dense_codes(cells["label"].rank("dense").fill_null(0).cast(pl.Int64).to_numpy())[0]
    table = (_codes(cells["sample_id"]), _codes(cells["wording"]), label, cells["p"].to_numpy(), n_classes)
    return {"components": sensitivity_components(*table), "bias_of_one_wording": sensitivity_bias(*table, 1)}


def _codes(column: pl.Series) -> NDArray[np.int64]:
    return (column.rank("dense").cast(pl.Int64) - 1).to_numpy()
