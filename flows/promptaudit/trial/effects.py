"""Measures what a trial changed: figures before and after with intervals, and the difference on the same samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.prompts.messages import FILLED, TRIED
from promptaudit.registry.cards import ALL_FIELDS
from promptaudit.registry.cards import Level as ScaleLevel
from promptaudit.system.display.columns import aligned
from promptaudit.system.display.figures import cut, finite, number
from promptaudit.trial.figures import Level, levels
from promptaudit.trial.measures import ACCURACY, OF_LABELS, column_of
from promptaudit.trial.plan import Trial
from promptaudit.udfs.differences.answers import paired_values
from promptaudit.udfs.differences.pairs import TOO_FEW_SAMPLES, AlikeNights, Clusters, Compared, compare_values
from promptaudit.udfs.differences.values import Values
from promptaudit.udfs.differences.verdict import adjusted, difference_verdict
from promptaudit.warehouse import Row, Warehouse, rows_as
from promptaudit.warehouse.sql import sql

NAME = 21  # characters of a measure in a table
RIGHT_AND_WRONG = ("right", "wrong")
"""Labels for answers that a scoring method calls right or wrong. The share of `right` is its accuracy."""


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
        """Names the cell that it answers."""
        return self.sample_id, self.paraphrase_temperature, self.variant_index, self.repetition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rated:
    # the answers of each arm by labels, or by right and wrong; `measures` maps our measures to the trial's names

    arms: Sequence[Sequence[Answer]]
    labels: tuple[str, ...]
    level: ScaleLevel
    measures: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One measure before, with the filler, and after. Differences have intervals for other samples of the kind.

    difference: after less before. beyond_filler: after less with the filler; None without a control. p_value: of the
    difference that counts: beyond the filler, where there is one. None with too few samples. q_value: the same,
    adjusted for all models and measures of the trial. verdict: of `difference_verdict`, or why there is none.
    """

    measure: str
    before: Level
    filler: Level | None
    after: Level
    difference: Level
    beyond_filler: Level | None
    p_value: float | None
    q_value: float | None = None
    verdict: str = TOO_FEW_SAMPLES

    @property
    def counts(self) -> Level:
        """Picks the difference that counts: beyond the filler, where there is one."""
        return self.difference if self.beyond_filler is None else self.beyond_filler

    @property
    def cells(self) -> tuple[str, ...]:
        """Writes what a table has of it: its name, each level, the difference that counts, and the verdict."""
        method, name = self.measure.removeprefix(ACCURACY), column_of(self.measure).label
        if method != self.measure:
            name = cut(f"{name}, {method.removeprefix('field:')}", NAME)
        levels = (each for each in (self.before, self.filler, self.after, self.counts) if each is not None)
        return (name, *map(str, levels), self.verdict.replace("_", " "))

    def judged(self, q_value: float, min_effect: float, *, is_unconfirmed: bool) -> Effect:
        """Adds the verdict."""
        level, worse = self.counts, 1 if column_of(self.measure).direction == "lower" else -1
        if level.figure is None or level.low is None or level.high is None:
            return self
        verdict = difference_verdict(
            level.figure, level.low, level.high, q_value, min_effect, worse, is_unconfirmed, is_one_sided=False
        )
        return replace(self, q_value=q_value, verdict=verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEffects:
    """The effects on one model under one strategy, one for each measure."""

    model_id: str
    strategy: str
    n_samples: int
    n_variants: int
    when_chosen: float | None  # mean sensitivity of these samples in the base run, if that has only wordings
    measures: tuple[Effect, ...]

    def lines(self, headings: Sequence[str]) -> Iterator[str]:
        """Writes a table of the measures, under headings of what was asked and the difference that counts."""
        names = f"{cut(self.model_id, 60)}, {cut(self.strategy, 60)}"
        yield f"{names}: {self.n_samples} samples, {self.n_variants} variants"
        widths = (NAME + 2, *[24] * (len(headings) - 1), 26, 0)
        for cells in (("", *headings, ""), *(each.cells for each in self.measures)):
            yield f"  {aligned(cells, widths)}"
        if self.when_chosen is not None and any(each.filler is not None for each in self.measures):
            yield (
                f"  when they were chosen their sensitivity was {number(self.when_chosen)}: the part that is gone with the "
                "filler comes from choosing the worst"
            )


def effects_of(warehouse: Warehouse, audit_run_id: str, trial: Trial) -> list[ModelEffects]:
    """Computes the effects of a published trial for each model and strategy, on the cells that every arm answered."""
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
    return _judged(trial, effects)


def _judged(trial: Trial, effects: Sequence[ModelEffects]) -> list[ModelEffects]:
    # effects against answers of an earlier run are at most unconfirmed
    p_values = [np.nan if each.p_value is None else each.p_value for of in effects for each in of.measures]
    q_values = iter(adjusted(np.array(p_values)).tolist())
    is_unconfirmed = trial.filler is None and not trial.asks_unchanged
    min_effect = trial.design.audit.min_effect
    return [
        replace(
            of,
            measures=tuple(
                each.judged(next(q_values), min_effect, is_unconfirmed=is_unconfirmed) for each in of.measures
            ),
        )
        for of in effects
    ]


def _rated(warehouse: Warehouse, trial: Trial, model: str, runs: Mapping[str, str]) -> list[_Rated]:
    # an extraction is rated by all fields and by each field
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
    audit, n_classes = trial.design.audit, len(rated.labels) + 1
    arm, sample, wording, *_, label, gold = table
    last = int(arm.max())
    counts = np.zeros((last + 1, int(sample.max()) + 1, int(wording.max()) + 1, n_classes))
    np.add.at(counts, (arm, sample, wording, label + 1), 1)
    place = np.full(counts.shape[1], -1)
    place[sample] = np.where(gold >= 0, gold + 1, -1)
    figures = [levels(of_arm, place, audit.seed, audit.resamples) for of_arm in counts]
    # against the unchanged prompts, and against the filler where there is one
    clusters = _clusters(trial, rated)
    differences = [_differences(rated, clusters, table, first, last) for first in range(last)]
    for name, shown in rated.measures.items():
        if all(name in each for each in figures) and all(name in each for each in differences):
            yield Effect(
                measure=shown,
                before=figures[0][name],
                filler=figures[1][name] if trial.filler is not None else None,
                after=figures[last][name],
                difference=_level(differences[0][name]),
                beyond_filler=_level(differences[1][name]) if trial.filler is not None else None,
                p_value=finite(differences[-1][name].p_value),
                verdict=differences[-1][name].reason or TOO_FEW_SAMPLES,
            )


def _clusters(trial: Trial, rated: _Rated) -> Clusters:
    # by the samples' codes in `_table`
    samples = dict.fromkeys(answer.sample_id for arm in rated.arms for answer in arm)
    known = [None if (sample := trial.base.samples.get(each)) is None else sample.cluster for each in samples]
    codes: dict[object, int] = {}
    own = [codes.setdefault((place if name is None else name), len(codes)) for place, name in enumerate(known)]
    return Clusters(range(len(own)), own)


def _differences(
    rated: _Rated, clusters: Clusters, table: NDArray[np.int64], first: int, last: int
) -> dict[str, Compared]:
    # the last arm less the arm `first`, for other samples under these wordings
    arm, sample, wording, temperature, is_original, repetition, label, gold = table[:, np.isin(table[0], (first, last))]
    found = paired_values(
        (arm == last).astype(np.int64),
        sample,
        wording,
        temperature,
        is_original.astype(np.bool_),
        repetition,
        label,
        gold,
        rated.labels,
        rated.level,
        are_drawn=False,
    )
    return {
        values.measure: compared(values, clusters)
        for values in found
        if values.measure in rated.measures and values.sample
    }


def compared(values: Values, clusters: Clusters | None = None) -> Compared:
    """Compares two arms in one measure, for other samples under these wordings."""
    if values.reason is not None:
        return Compared(values.candidate - values.base, reason=values.reason)
    samples = np.array(values.sample)
    return compare_values(
        samples,
        None if clusters is None else clusters.of(samples),
        np.array([values.in_base, values.in_candidate]),
        values.n_wordings,
        AlikeNights(),
        wordings=values.wordings,
        is_rate=True,  # only nights ask for it
        are_kept=True,
        are_apart=False,
        ages=(0, 0),
    )


def _level(found: Compared) -> Level:
    return Level(finite(found.difference), finite(found.low), finite(found.high))


def _table(trial: Trial, model: str, strategy: str, rated: _Rated) -> NDArray[np.int64]:
    # columns: arm, sample, wording, temperature, is_original, repetition, label and gold, as codes
    own = [each for each in trial.base.variants if each.strategy == strategy and each.is_asked_of(model)]
    is_swept = any(each.paraphrase_temperature is not None for each in own)
    # as in p_tau: where temperatures are swept, one wording at several temperatures counts once
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
