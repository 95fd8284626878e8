"""Measures what a trial changed: each figure before and after with its interval, and the difference on the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.flows.display.encode import encoded_property
from promptaudit.flows.prompts.messages import FILLED, TRIED
from promptaudit.flows.trial.figures import Level, corrected_difference, finite, levels
from promptaudit.flows.trial.plan import Trial
from promptaudit.flows.warehouse import Row, Warehouse, rows_as
from promptaudit.flows.warehouse.sql import sql
from promptaudit.models_registry.mart_columns import mart_columns
from promptaudit.udfs.comparison import compare_answers

Verdict = Literal["better", "worse", "none shown", "no interval"]
MEASURES = ("sensitivity", "sensitivity_corrected", "consistency", "micro_f1", "invalid_rate")
N_RESAMPLES = 2000


class Answer(NamedTuple):
    """A row of `answers.sql`."""

    paraphrase_temperature: float | None
    variant_index: int
    is_original: bool
    sample_id: str
    repetition: int
    label: str | None
    gold_label: str | None

    @property
    def cell(self) -> tuple[str, float | None, int, int]:
        """Returns the cell that is answered."""
        return self.sample_id, self.paraphrase_temperature, self.variant_index, self.repetition


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One measure before, with the filler, and after; differences with intervals for other samples of the kind.

    difference: after less before. beyond_filler: after less with the filler; None without a control.
    """

    measure: str
    before: Level
    filler: Level | None
    after: Level
    difference: Level
    beyond_filler: Level | None

    @property
    def counts(self) -> Level:
        """Returns the difference that counts: beyond the filler, where there is one."""
        return self.difference if self.beyond_filler is None else self.beyond_filler

    @encoded_property
    def verdict(self) -> Verdict:
        """Returns whether the interval of the difference that counts leaves 0 out, and on which side."""
        low, high = self.counts.low, self.counts.high
        if low is None or high is None:  # too few samples of a class for consistency's
            return "no interval"
        if low <= 0 <= high:
            return "none shown"
        return "better" if (high < 0) == (mart_columns("rpt_audit")[self.measure].direction == "lower") else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEffects:
    """The effects on one model under one strategy, a measure each."""

    model_id: str
    strategy: str
    n_samples: int
    n_variants: int
    when_chosen: float | None  # mean sensitivity of these samples in the base run, where that is of its wordings alone
    measures: tuple[Effect, ...]


def effects_of(warehouse: Warehouse, audit_run_id: str, trial: Trial) -> list[ModelEffects]:
    """Returns the effects of a published trial for each model and strategy, on the cells that every arm answered."""
    effects = []
    before_run = audit_run_id if trial.asks_unchanged else trial.base.audit_run_id
    for model in trial.design.models:
        for strategy in trial.strategies:
            endings = (FILLED, TRIED) if trial.filler is not None else (TRIED,)
            runs = {strategy: before_run, **{strategy + ending: audit_run_id for ending in endings}}
            arms = [rows_as(Answer, _read(warehouse, "answers", run, trial, model, name)) for name, run in runs.items()]
            (chosen,) = _read(warehouse, "chosen_sensitivity", trial.base.audit_run_id, trial, model, strategy)
            table = _table(trial, model, strategy, _in_all(arms))
            if table.size:
                effects.append(_effects(trial, model, strategy, table, chosen["sensitivity"]))
    return effects


def _read(warehouse: Warehouse, query: str, run: str, trial: Trial, model: str, strategy: str) -> list[Row]:
    named = {"model": model, "task": trial.base.task_id, "strategy": strategy, "samples": list(trial.base.samples)}
    return warehouse.published.read(sql("trial", query), run=run, **named)


def _in_all(arms: Sequence[Sequence[Answer]]) -> list[list[Answer]]:
    """Returns the answers of each arm whose cell every other arm has too."""
    shared = set.intersection(*({answer.cell for answer in arm} for arm in arms))
    return [[answer for answer in arm if answer.cell in shared] for arm in arms]


def _effects(trial: Trial, model: str, strategy: str, table: NDArray[np.int64], chosen: float | None) -> ModelEffects:
    audit, n_classes = trial.design.audit, len(trial.base.card.label_names) + 1
    arm, sample, wording, *_, label, gold = table
    last = int(arm.max())
    counts = np.zeros((last + 1, int(sample.max()) + 1, int(wording.max()) + 1, n_classes))
    np.add.at(counts, (arm, sample, wording, label + 1), 1)
    place = np.full(counts.shape[1], -1)
    place[sample] = np.where(gold >= 0, gold + 1, -1)
    figures = [levels(of_arm, place, audit.seed, audit.resamples) for of_arm in counts]
    # against the unchanged prompts, and against the filler where there is one
    differences = [_differences(trial, table, counts, first, last) for first in range(last)]
    measures = tuple(
        Effect(
            measure=name,
            before=figures[0][name],
            filler=figures[1][name] if trial.filler is not None else None,
            after=figures[last][name],
            difference=differences[0][name],
            beyond_filler=differences[1][name] if trial.filler is not None else None,
        )
        for name in MEASURES
        if all(name in each for each in (*figures, *differences))
    )
    return ModelEffects(
        model_id=model,
        strategy=strategy,
        n_samples=counts.shape[1],
        n_variants=counts.shape[2],
        when_chosen=None if trial.base.has_other_kinds else chosen,
        measures=measures,
    )


def _differences(
    trial: Trial, table: NDArray[np.int64], counts: NDArray[np.float64], first: int, last: int
) -> dict[str, Level]:
    """Returns every measure of the arm `last` less that of the arm `first`; all draws are the same."""
    card, seed = trial.base.card, trial.design.audit.seed
    labels = card.label_names
    numbers = [float(name) for name in labels] if card.level == "interval" else list(range(len(labels)))
    arm, sample, wording, temperature, is_original, repetition, label, gold = table[:, np.isin(table[0], (first, last))]
    compared = compare_answers(
        (arm == last).astype(np.int64),
        sample,
        wording,
        temperature,
        is_original.astype(np.bool_),
        repetition,
        label,
        gold,
        n_classes=len(labels) + 1,
        level=card.level,
        numbers=np.array(numbers, np.float64),
        seed=seed,
        n_resamples=N_RESAMPLES,
    )
    differences = {row.measure: Level(finite(row.difference), finite(row.low), finite(row.high)) for row in compared}
    differences["sensitivity_corrected"] = corrected_difference(counts[first], counts[last], seed, N_RESAMPLES)
    return differences


def _table(trial: Trial, model: str, strategy: str, arms: Sequence[Sequence[Answer]]) -> NDArray[np.int64]:
    """Returns arm, sample, wording, temperature, is_original, repetition, label and gold of each answer, as codes."""
    own = [each for each in trial.base.variants if each.strategy == strategy and each.is_asked_of(model)]
    is_swept = any(each.paraphrase_temperature is not None for each in own)
    # as for p_tau: where temperatures are swept, one wording under several of them is one
    named = {
        (each.paraphrase_temperature, each.variant_index): each.instruction if is_swept else each.variant_index
        for each in own
    }
    temperatures = sorted({each.paraphrase_temperature for each in own if each.paraphrase_temperature is not None})
    place: dict[str | None, int] = {label: index for index, label in enumerate(trial.base.card.label_names)}
    wordings: dict[object, int] = {}
    samples: dict[str, int] = {}
    columns = [
        (
            number,
            samples.setdefault(answer.sample_id, len(samples)),
            wordings.setdefault(named[answer.paraphrase_temperature, answer.variant_index], len(wordings)),
            -1 if answer.paraphrase_temperature is None else temperatures.index(answer.paraphrase_temperature),
            int(answer.is_original),
            answer.repetition,
            place.get(answer.label, -1),
            place.get(answer.gold_label, -1),
        )
        for number, arm in enumerate(arms)
        for answer in arm
    ]
    return np.array(columns, np.int64).T
