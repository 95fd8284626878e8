"""Judges how agreement over wordings changes with the temperature that they were made at."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from promptaudit.udfs.differences.alike_nights import Floats as FloatArray
from promptaudit.udfs.differences.alphas import FEW_DISAGREE, FEWEST_DISAGREEING, disagrees
from promptaudit.udfs.differences.difference import KEPT, between_samples
from promptaudit.udfs.differences.pairs import TOO_FEW_SAMPLES
from promptaudit.udfs.differences.values import FEWEST_DRAWN, wordings_error
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Floats, SmallIntegers, SmallLabels, Texts
from promptaudit.udfs.stability.krippendorff import Level
from promptaudit.udfs.stability.of_labels import numbered_labels
from promptaudit.udfs.stability.prompt_stability import alpha_with_pseudo_values
from promptaudit.udfs.stability.ratings import Annotations, annotations_of

ONE_TEMPERATURE = "fewer than two temperatures have a PSS"
TOO_FEW_WORDINGS = f"too few wordings: {FEWEST_DRAWN} are needed at each temperature"


class Trend(NamedTuple):
    """The change of PSS from the lowest to the highest temperature, along the line of least squares; NaN if undefined.

    Attributes:
        difference: PSS at the highest temperature minus PSS at the lowest, on the line.
        low, high: its 95 % interval, for other samples and other wordings.
        p_value: two-sided.
        n_temperatures: how many temperatures have a PSS.
        n_samples: samples that every temperature has.
        reason: why there is no interval; None where there is.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n_temperatures: int
    n_samples: int
    reason: str | None


@sql_function()
def stability_trend(
    temperature: Floats,
    sample: SmallIntegers,
    annotator: SmallIntegers,
    replicate: SmallLabels,
    label: Texts,
    cluster: SmallIntegers,
    level: Level,
) -> Trend:
    """Computes the trend of PSS with the temperature of the rephraser; undefined below two temperatures with a PSS.

    Each temperature has wordings of its own, so the variance that other wordings add is the sum over temperatures.

    Args:
        temperature: shape (n,), of the rephraser.
        sample: shape (n,), codes.
        annotator: shape (n,), codes, of the wordings of one temperature.
        replicate: shape (n,), any codes.
        label: shape (n,), as in `prompt_stability`.
        cluster: shape (n,), codes of clusters of samples; a sample without a cluster has its own code.
        level: nominal, ordinal or interval.

    Source:
        Barrie et al. 2025 for PSS at rising temperatures.
    """
    codes, numbers = numbered_labels(label, level)
    samples, place = np.unique(np.asarray(sample), return_inverse=True)
    units = np.empty(len(samples), np.int64)
    units[place] = cluster
    points, figures, by_sample, tables = [], [], [], []
    is_disagreeing = np.zeros(len(samples), np.bool_)
    for each in np.unique(temperature):
        own = temperature == each
        annotations = annotations_of(place[own], annotator[own], replicate[own], codes[own])
        figure, values = _by_sample(annotations, numbers, level, len(samples))
        if np.isnan(figure):
            continue
        points.append(float(each))
        figures.append(figure)
        by_sample.append(values)
        tables.append(_by_wording(annotations, numbers, level, values))
        is_disagreeing[annotations.units] |= disagrees(annotations.label)
    if len(points) < 2:
        return Trend(np.nan, np.nan, np.nan, np.nan, len(points), 0, ONE_TEMPERATURE)
    away = np.array(points) - np.mean(points)
    weight = away * (max(points) - min(points)) / (away @ away)
    added = weight @ np.stack(by_sample)
    difference, counts = float(weight @ np.array(figures)), ~np.isnan(added)
    if not counts.any():
        return Trend(difference, np.nan, np.nan, np.nan, len(points), 0, TOO_FEW_SAMPLES)
    added += difference - added[counts].mean()
    own_units, n = units[counts], int(counts.sum())
    wordings, n_wordings = wordings_error(tables, weight.tolist()), min(len(table) for table in tables)
    found = between_samples(
        added[counts],
        n_wordings,
        own_units if len(np.unique(own_units)) < len(own_units) else None,
        wordings=wordings,
    )
    reason = None
    if is_disagreeing.sum() < FEWEST_DISAGREEING:
        reason = FEW_DISAGREE
    if n_wordings < FEWEST_DRAWN or wordings is KEPT:
        reason = TOO_FEW_WORDINGS
    if found is None or reason is not None:
        return Trend(difference, np.nan, np.nan, np.nan, len(points), n, reason if found else TOO_FEW_SAMPLES)
    half = found.half_width
    return Trend(difference, difference - half, difference + half, found.p_value(), len(points), n, None)


def _by_sample(annotations: Annotations, numbers: FloatArray, level: Level, n_samples: int) -> tuple[float, FloatArray]:
    # alpha, and what each sample adds to it, NaN for samples without a value
    figure, found = alpha_with_pseudo_values(annotations, numbers, level)
    values = np.full(n_samples, np.nan)
    values[found.sample] = found.value
    return figure, values


def _by_wording(annotations: Annotations, numbers: FloatArray, level: Level, values: FloatArray) -> FloatArray:
    # what each sample adds to alpha under each wording, shape (n_wordings, n_samples), by leaving the wording out
    n = annotations.label.shape[1]
    others = ~np.eye(n, dtype=np.bool_)
    without = [
        replace(
            annotations,
            label=np.ascontiguousarray(annotations.label[:, kept]),
            has_entries=annotations.has_entries[:, kept],
            families=annotations.families[kept],
        )
        for kept in others
    ]
    return np.stack([n * values - (n - 1) * _by_sample(each, numbers, level, len(values))[1] for each in without])
