"""Measures what a trial changed: each figure before and after with its interval, and the difference on the same samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.flows.display.encode import encoded_property
from promptaudit.flows.prompts.messages import FILLED, TRIED
from promptaudit.flows.trial.figures import Level, corrected_difference, finite, levels
from promptaudit.flows.trial.measures import ACCURACY, OF_LABELS, column_of
from promptaudit.flows.trial.plan import Trial
from promptaudit.flows.warehouse import Row, Warehouse, rows_as
from promptaudit.flows.warehouse.sql import sql
from promptaudit.models_registry.cards import ALL_FIELDS
from promptaudit.models_registry.cards import Level as ScaleLevel
from promptaudit.udfs.comparison import compare_answers

Verdict = Literal["better", "worse", "none shown", "no interval"]
RIGHT_AND_WRONG = ("right", "wrong")
"""What stands for labels where answers are right or wrong by a scoring method; the share of `right` is its accuracy."""
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
class _Rated:
    """The answers of each arm by labels, or by right and wrong, and the measures of them with what each is called here."""

    arms: Sequence[Sequence[Answer]]
    labels: tuple[str, ...]
    level: ScaleLevel
    measures: Mapping[str, str]


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
        return "better" if (high < 0) == (column_of(self.measure).direction == "lower") else "worse"


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
            (chosen,) = _read(warehouse, "chosen_sensitivity", trial.base.audit_run_id, trial, model, strategy)
            rated = [
                (each, table)
                for each in _rated(warehouse, trial, model, runs)
                if (table := _table(trial, model, strategy, each)).size
            ]
            if rated:
                effects.append(_effects(trial, model, strategy, rated, chosen["sensitivity"]))
    return effects


def _rated(warehouse: Warehouse, trial: Trial, model: str, runs: Mapping[str, str]) -> list[_Rated]:
    """Returns the answers by their labels; of extraction by all fields and by each of them."""
    card = trial.base.card
    if not card.fields:
        arms = [rows_as(Answer, _read(warehouse, "answers", run, trial, model, name)) for name, run in runs.items()]
        names = {name: name for name in OF_LABELS}
        return [_Rated(arms=_in_all(arms), labels=card.label_names, level=card.level, measures=names)]
    read = [_read(warehouse, "field_answers", run, trial, model, name) for name, run in runs.items()]
    rated = []
    for method in card.scoring_methods:
        arms = [
            [Answer(*(row[name] for name in Answer._fields)) for row in rows if row["scoring_method"] == method]
            for rows in read
        ]
        names = {
            "micro_f1": f"{ACCURACY}{method}",
            **({"invalid_rate": "invalid_rate"} if method == ALL_FIELDS else {}),
        }
        rated.append(_Rated(arms=_in_all(arms), labels=RIGHT_AND_WRONG, level="nominal", measures=names))
    return rated


def _read(warehouse: Warehouse, query: str, run: str, trial: Trial, model: str, strategy: str) -> list[Row]:
    named = {"model": model, "task": trial.base.task_id, "strategy": strategy, "samples": list(trial.base.samples)}
    return warehouse.published.read(sql("trial", query), run=run, **named)


def _in_all(arms: Sequence[Sequence[Answer]]) -> list[list[Answer]]:
    """Returns the answers of each arm whose cell every other arm has too."""
    shared = set.intersection(*({answer.cell for answer in arm} for arm in arms))
    return [[answer for answer in arm if answer.cell in shared] for arm in arms]


def _effects(
    trial: Trial,
    model: str,
    strategy: str,
    rated: Sequence[tuple[_Rated, NDArray[np.int64]]],
    chosen: float | None,
) -> ModelEffects:
    _, sample, wording, *_ = rated[0][1]
    return ModelEffects(
        model_id=model,
        strategy=strategy,
        n_samples=int(sample.max()) + 1,
        n_variants=int(wording.max()) + 1,
        when_chosen=None if trial.base.has_other_kinds else chosen,
        measures=tuple(effect for each, table in rated for effect in _measured(trial, each, table)),
    )


def _measured(trial: Trial, rated: _Rated, table: NDArray[np.int64]) -> Iterator[Effect]:
    """Yields the effect on each measure of the answers."""
    audit, n_classes = trial.design.audit, len(rated.labels) + 1
    arm, sample, wording, *_, label, gold = table
    last = int(arm.max())
    counts = np.zeros((last + 1, int(sample.max()) + 1, int(wording.max()) + 1, n_classes))
    np.add.at(counts, (arm, sample, wording, label + 1), 1)
    place = np.full(counts.shape[1], -1)
    place[sample] = np.where(gold >= 0, gold + 1, -1)
    figures = [levels(of_arm, place, audit.seed, audit.resamples) for of_arm in counts]
    # against the unchanged prompts, and against the filler where there is one
    differences = [_differences(trial, rated, table, counts, first) for first in range(last)]
    for name, shown in rated.measures.items():
        if all(name in each for each in (*figures, *differences)):
            yield Effect(
                measure=shown,
                before=figures[0][name],
                filler=figures[1][name] if trial.filler is not None else None,
                after=figures[last][name],
                difference=differences[0][name],
                beyond_filler=differences[1][name] if trial.filler is not None else None,
            )


def _differences(
    trial: Trial, rated: _Rated, table: NDArray[np.int64], counts: NDArray[np.float64], first: int
) -> dict[str, Level]:
    """Returns every measure of the last arm less that of the arm `first`; all draws are the same."""
    seed, last = trial.design.audit.seed, len(counts) - 1
    labels, level = rated.labels, rated.level
    numbers = [float(name) for name in labels] if level == "interval" else list(range(len(labels)))
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
        level=level,
        numbers=np.array(numbers, np.float64),
        seed=seed,
        n_resamples=N_RESAMPLES,
    )
    differences = {row.measure: Level(finite(row.difference), finite(row.low), finite(row.high)) for row in compared}
    differences["sensitivity_corrected"] = corrected_difference(counts[first], counts[last], seed, N_RESAMPLES)
    return differences


def _table(trial: Trial, model: str, strategy: str, rated: _Rated) -> NDArray[np.int64]:
    """Returns arm, sample, wording, temperature, is_original, repetition, label and gold of each answer, as codes."""
    own = [each for each in trial.base.variants if each.strategy == strategy and each.is_asked_of(model)]
    is_swept = any(each.paraphrase_temperature is not None for each in own)
    # as for p_tau: where temperatures are swept, one wording under several of them is one
    named = {
        (each.paraphrase_temperature, each.variant_index): each.instruction if is_swept else each.variant_index
        for each in own
    }
    temperatures = sorted({each.paraphrase_temperature for each in own if each.paraphrase_temperature is not None})
    place: dict[str | None, int] = {label: index for index, label in enumerate(rated.labels)}
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
        for number, arm in enumerate(rated.arms)
        for answer in arm
    ]
    return np.array(columns, np.int64).T
