"""Computes each sample's sensitivity, how much of it the wording explains, and what that points to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from promptaudit.query.diagnosis.material import Unit
from promptaudit.system.display.compared import OfUnit, names_of
from promptaudit.system.display.figures import finite
from promptaudit.udfs.measures.wording_effect import discoveries, sample_sensitivity, wording_effect

PointsTo = Literal["prompt", "noise", "prompt_or_noise", "sample_or_label", "output_format"]
STEADY = 0.9
UNREAD = 0.5

MEANS: dict[PointsTo, str] = {  # word: what the run's variants are called
    "prompt": "the prompt: its answers change with the {word}, by more than repetitions of one {word} do",
    "noise": "the model's own noise: asked again in the same words it changes its answer as often; no other {word} mends that",
    "prompt_or_noise": "the prompt or noise: asked once, the two cannot be told apart; `repetitions: {{variants: 2}}` parts them",
    "sample_or_label": "the sample or its gold label: the {word} hardly matters and the answer is another label",
    "output_format": "the output format: at least half of its answers are no label",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFinding(OfUnit):
    """One sample of a unit. low and high bound the interval for other wordings; p_value is by noise alone."""

    sample_id: str
    gold_label: str | None
    said: str | None  # the label given most, None for N/A
    said_share: float
    sensitivity: float | None
    corrected: float | None
    low: float | None
    high: float | None
    wording_share: float | None  # of its disagreement, the rest is noise
    repeat_disagreement: float | None
    p_value: float | None
    points_to: PointsTo | None
    n_variants: int


def sample_findings(unit: Unit, seed: int) -> list[SampleFinding]:
    """Judges the samples of a unit and lists them with the most sensitive first.

    A sample is steady when one label has 90 % of its p_tau. Whether the wording explains an unsteady one is tested by
    exchanging its answers between wordings (`udfs.measures.wording_effect`), with at most one in twenty that point to
    the prompt expected false (Benjamini-Hochberg over the unit's unsteady samples).
    """
    top = unit.p_tau.argmax(axis=1)
    share = unit.p_tau.max(axis=1)
    is_unsteady = share < STEADY
    effects = {
        index: wording_effect(*unit.answers[sample], seed=seed)
        for index, sample in enumerate(unit.sample_ids)
        if sample in unit.answers and is_unsteady[index]
    }
    p_values = np.full(len(unit.sample_ids), np.nan)
    for index, effect in effects.items():
        p_values[index] = effect.p_value
    is_wording = discoveries(p_values)
    samples = []
    for index in np.lexsort((np.arange(len(share)), -np.nan_to_num(unit.sensitivity, nan=-1.0))).tolist():
        sample = unit.sample_ids[index]
        interval = _interval(unit, sample)
        own_effect = effects.get(index)
        samples.append(
            SampleFinding(
                **names_of(unit),
                sample_id=sample,
                gold_label=unit.samples[index].gold_label,
                said=unit.labels[top[index]],
                said_share=float(share[index]),
                sensitivity=finite(unit.sensitivity[index]),
                corrected=interval[0],
                low=interval[1],
                high=interval[2],
                wording_share=None if own_effect is None else finite(own_effect.share),
                repeat_disagreement=None if own_effect is None else finite(own_effect.repeat),
                p_value=finite(p_values[index]),
                points_to=_points_to(unit, index, int(top[index]), p_values[index], is_wording=bool(is_wording[index])),
                n_variants=unit.samples[index].n_variants,
            )
        )
    return samples


def _interval(unit: Unit, sample: str) -> tuple[float | None, float | None, float | None]:
    if sample not in unit.answers:
        return None, None, None
    wording, label = unit.answers[sample]
    counts = np.zeros((int(wording.max()) + 1, len(unit.labels)))
    np.add.at(counts, (wording, label), 1)
    corrected, low, high = sample_sensitivity(counts / counts.sum(axis=1, keepdims=True))
    return finite(corrected), finite(low), finite(high)


def _points_to(unit: Unit, index: int, top: int, p_value: float, *, is_wording: bool) -> PointsTo | None:
    if unit.p_tau[index, 0] >= UNREAD:
        return "output_format"
    if unit.p_tau[index, top] >= STEADY:
        return "sample_or_label" if unit.gold[index] >= 0 and top != unit.gold[index] else None
    if is_wording:
        return "prompt"
    if np.isnan(unit.sensitivity[index]):  # of one wording: what differs are repetitions of it
        return "noise"
    return "prompt_or_noise" if np.isnan(p_value) else "noise"
