"""Reads from the published copy what a diagnosis needs: a table of samples for each model, task and strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.registry.cards import WORDED_ALONE
from promptaudit.registry.errors import MeasureError
from promptaudit.system.display.compared import OfUnit
from promptaudit.system.display.figures import LONG, cut, shown
from promptaudit.system.display.policy import Policy, Texts
from promptaudit.warehouse import Row, Warehouse, rows_as
from promptaudit.warehouse.run_names import chosen
from promptaudit.warehouse.sql import sql

MOST_TESTED = 1000  # samples of a unit whose answers are looked at one by one: the most sensitive

_TASKS = "select task_id, kind, labels, is_sensitive from marts.dim_tasks where audit_run_id = $run"
_INPUTS = (
    "select task_id, sample_id, input from marts.dim_samples where audit_run_id = $run order by task_id, sample_index"
)


class Scorecard(NamedTuple):
    """Figures of one model, task and strategy as a whole. `figures` has all columns of rpt_audit."""

    model_id: str
    task_id: str
    strategy: str
    n_samples: int
    invalid_rate: float | None
    invalid_rate_low: float | None
    n_samples_compared: int | None
    n_samples_changed: int | None
    figures: Row


class MeasuredSample(NamedTuple):
    """A sample of a unit. `p_tau` has N/A first, then the labels in the task's order."""

    sample_id: str
    gold_label: str | None
    p_tau: list[float]
    sensitivity: float | None
    n_variants: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit(OfUnit):
    """One model, task and strategy of a run, its samples in order.

    labels: shape (C,) with None, N/A, first. p_tau: shape (N, C). gold: shape (N,), places in labels, -1 unknown.
    sensitivity: shape (N,), NaN undefined. answers: sample id to (wordings, labels), an entry an answer, dense codes of
    wordings and places in labels; only the most sensitive samples are in it.
    """

    labels: tuple[str | None, ...]
    sample_ids: tuple[str, ...]
    p_tau: NDArray[np.float64]
    gold: NDArray[np.int64]
    sensitivity: NDArray[np.float64]
    samples: tuple[MeasuredSample, ...]
    answers: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    scorecard: Scorecard
    statuses: dict[str, int]  # how many answers have each, but for valid ones and errors


@dataclass(frozen=True, slots=True)
class Material:
    """The units of a run that are diagnosed, the inputs of their tasks by sample, and how much of texts may be shown.

    `has_other_kinds`: the run has other variants than wordings.
    """

    units: tuple[Unit, ...]
    inputs: Mapping[str, Mapping[str, str | None]]
    texts: Texts
    has_other_kinds: bool = False

    @property
    def word(self) -> str:
        """Names the run's variants: `prompt` where some differ in more than their wording, else `wording`."""
        return "prompt" if self.has_other_kinds else "wording"

    def is_hidden(self, task_id: str) -> bool:
        """Checks whether nothing of a task's texts may be shown."""
        return self.texts.of(task_id) == "none"

    def shown(self, task_id: str, text: str | None) -> str | None:
        """Gives as much of a text as may be shown."""
        if text is None or self.is_hidden(task_id):
            return None
        return cut(text, LONG) if self.texts.of(task_id) == "excerpt" else shown(text)

    def shown_input(self, task_id: str, sample_id: str) -> str | None:
        """Gives as much of a sample's input as may be shown."""
        return self.shown(task_id, self.inputs[task_id].get(sample_id))


def read_material(
    warehouse: Warehouse, run: str, policy: Policy | None, *, model: str | None, task: str | None, strategy: str | None
) -> Material:
    """Reads the chosen units of a published run.

    Raises:
        UsageError: a name that the run does not have.
        MeasureError: nothing is measured.
    """
    rows = rows_as(Scorecard, warehouse.published.read(sql("query.diagnosis", "units"), run=run))
    if rows:
        rows = chosen(rows, f"run {run} has none of that name", model=model, task=task, strategy=strategy)
    tasks = {row["task_id"]: row for row in warehouse.published.read(_TASKS, run=run)}
    units = [_unit(warehouse, run, row, tasks[row.task_id]["labels"]) for row in rows]
    kept = tuple(unit for unit in units if unit is not None)
    if not kept:
        msg = f"run {run}: no sample has a label under any wording, so there is nothing to diagnose"
        if any(row["kind"] == "extraction" for row in tasks.values()):
            msg += "; marts.fct_field_stability says how each field depends on the wording"
        raise MeasureError(msg)
    inputs: dict[str, dict[str, str | None]] = {unit.task_id: {} for unit in kept}
    for row in warehouse.published.read(_INPUTS, run=run):
        if row["task_id"] in inputs:
            inputs[row["task_id"]][row["sample_id"]] = row["input"]
    (kinds,) = warehouse.published.read(
        sql("query.diagnosis", "other_kinds"), run=run, worded_alone=[kind for kind in WORDED_ALONE if kind is not None]
    )
    texts = Texts(policy, frozenset(name for name in inputs if tasks[name]["is_sensitive"]))
    return Material(kept, inputs, texts, kinds["has_other_kinds"])


def _unit(warehouse: Warehouse, run: str, unit: Scorecard, labels: list[str] | None) -> Unit | None:
    def ask(query: str) -> list[Row]:
        named = {"model": unit.model_id, "task": unit.task_id, "strategy": unit.strategy}
        return warehouse.published.read(query, run=run, most=MOST_TESTED, **named)

    rows = rows_as(MeasuredSample, ask(sql("query.diagnosis", "samples")))
    if not rows or not labels:
        return None
    names = (None, *labels)
    place: dict[str | None, int] = {name: index for index, name in enumerate(names)}
    answers: dict[str, tuple[list[str], list[int]]] = {}
    for own in ask(sql("query.diagnosis", "answers")):
        variants, given = answers.setdefault(own["sample_id"], ([], []))
        variants += [own["wording"]] * own["n"]
        given += [place[own["label"]]] * own["n"]
    return Unit(
        model_id=unit.model_id,
        task_id=unit.task_id,
        strategy=unit.strategy,
        labels=names,
        sample_ids=tuple(row.sample_id for row in rows),
        p_tau=np.array([row.p_tau for row in rows], np.float64),
        gold=np.array([-1 if row.gold_label is None else place[row.gold_label] for row in rows], np.int64),
        sensitivity=np.array([np.nan if row.sensitivity is None else row.sensitivity for row in rows], np.float64),
        samples=tuple(rows),
        answers={
            sample: (np.unique(variants, return_inverse=True)[1].astype(np.int64), np.array(given, np.int64))
            for sample, (variants, given) in answers.items()
        },
        scorecard=unit,
        statuses={row["answer_status"]: row["n"] for row in ask(sql("query.diagnosis", "statuses"))},
    )
