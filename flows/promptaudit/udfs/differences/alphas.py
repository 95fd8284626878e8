"""Compares the prompt stability of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.alike_nights import Floats
from promptaudit.udfs.differences.answers_table import AnswersTable
from promptaudit.udfs.differences.matching import OTHER_VARIANTS, SAME_WORDING
from promptaudit.udfs.differences.values import Both, Figure, Values, absent, values_of
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.stability.krippendorff import Level
from promptaudit.udfs.stability.prompt_stability import alpha_with_pseudo_values
from promptaudit.udfs.stability.ratings import MISSING, Annotations

FEW_DISAGREE = "too few samples disagree"
FEWEST_DISAGREEING = 5


def stability_values(
    table: AnswersTable,
    numbers: Floats,
    level: Level,
    is_given: NDArray[np.bool_],
    both: Both,
    *,
    n_repeated: int,
) -> Iterator[Values]:
    """Yields PSS between repetitions of the original, and between wordings of one temperature."""
    labels = np.where(table.labels < len(numbers), table.labels, MISSING)
    is_ours = (table.is_original & (table.stratum == SAME_WORDING))[table.ask_slot]
    is_asked = (table.labels[0] >= 0).any(axis=2)
    repeated = labels[:, is_ours].reshape(2, 1, -1, table.n_samples)
    repeated = repeated[:, :, is_asked[is_ours].ravel()]
    if repeated.shape[2] > 1:
        intra = [(repeated, np.zeros(repeated.shape[2], np.int64))]
        own = Both(table.samples, int(table.is_original.sum()), n_repeated, is_redrawn=False, are_drawn=False)
        yield _alpha("pss_intra", intra, numbers, level, np.ones((table.n_samples, 1), np.bool_), own)
    elif table.is_redrawn or not is_ours.any():
        yield absent("pss_intra", OTHER_VARIANTS)
    groups = []
    for temperature in np.unique(table.ask_temperature[table.ask_temperature >= -1]):
        # an original without a temperature joins every temperature
        joins = (table.ask_temperature == -1) & table.is_original[table.ask_slot]
        members = np.flatnonzero((table.ask_temperature == temperature) | joins)
        n_given = (table.labels[0, members] >= 0).sum(axis=(0, 2))
        # a repetition for a part of the samples is no replicate of the others
        layers = np.flatnonzero(is_asked[members].all(axis=0) & (2 * n_given >= n_given.max()))
        if len(members) > 1 and len(layers):
            groups.append((labels[:, members][:, :, layers].swapaxes(1, 2), table.ask_slot[members]))
    if groups:
        yield _alpha("pss_inter", groups, numbers, level, is_given, both)


def _alpha(
    measure: str,
    groups: Sequence[tuple[NDArray[np.int16], NDArray[np.int64]]],
    numbers: Floats,
    level: Level,
    is_given: NDArray[np.bool_],
    both: Both,
) -> Values:
    # the mean over groups of labels, shape (2, n_replicates, n_annotators, n_samples), and each annotator's wording
    def alpha(run: int, wordings: NDArray[np.bool_]) -> Figure:
        figures, by_sample = [], []
        for labels, slot in groups:
            kept = np.ascontiguousarray(labels[run][:, wordings[slot]].astype(np.int32))
            annotations = Annotations(
                kept, np.ones(kept.shape[:2], np.bool_), np.arange(kept.shape[2]), np.arange(kept.shape[1])
            )
            figure, values = alpha_with_pseudo_values(annotations, numbers, level)
            own = np.full(kept.shape[2], np.nan)
            own[values.sample] = values.value
            figures.append(figure)
            by_sample.append(own)
        return Figure(float(mean_defined(np.array(figures))), mean_defined(np.stack(by_sample)))

    row = values_of(measure, alpha, is_given, both)
    disagreeing = min(int(np.any([disagrees(labels[run]) for labels, _ in groups], axis=0).sum()) for run in (0, 1))
    return row if disagreeing >= FEWEST_DISAGREEING or row.reason else row._replace(reason=FEW_DISAGREE)


def disagrees(labels: NDArray[np.signedinteger[Any]]) -> NDArray[np.bool_]:
    """Finds the samples that two annotators of a replicate label differently.

    `labels` has the shape (n_replicates, n_annotators, n_samples).
    """
    most = labels.max(axis=1)
    least = np.where(labels == MISSING, np.iinfo(np.int16).max, labels).min(axis=1)
    return np.asarray((most > least).any(axis=0))
