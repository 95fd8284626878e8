"""Puts the answers that two runs share into one table: both runs x asks x repetitions x samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.differences.matching import (
    FEWEST_CELLS,
    OTHER_SAMPLES,
    OTHER_VARIANTS,
    SAME_WORDING,
    match_variants,
    samples_of_both,
)
from promptaudit.udfs.stability.ratings import MISSING


@dataclass(frozen=True, kw_only=True)
class AnswersTable:
    """The answers that both runs have. An ask is a slot (a pair of variants) under one paraphrase temperature.

    Attributes:
        labels: shape (2, n_asks, n_repetitions, n_samples), codes of labels, N/A the last one; -1 where the answer is
            missing in either run.
        ask_slot: shape (n_asks,).
        ask_temperature: shape (n_asks,), -1 without one, -2 where it is in no group.
        is_original: shape (n_slots,), whether both runs have it as their original wording.
        stratum: shape (n_slots,), as in `Slots`.
        gold: shape (n_samples,), ascending, -1 where the runs do not agree on one.
        n_classes: labels and N/A.
        samples: shape (n_samples,), their codes.
    """

    labels: NDArray[np.int16]
    ask_slot: NDArray[np.int64]
    ask_temperature: NDArray[np.int64]
    is_original: NDArray[np.bool_]
    stratum: NDArray[np.int64]
    gold: NDArray[np.int64]
    n_classes: int
    samples: NDArray[np.int64]

    @property
    def n_slots(self) -> int:
        """Counts the pairs of variants."""
        return len(self.stratum)

    @property
    def n_samples(self) -> int:
        """Counts the samples that both runs have."""
        return int(self.labels.shape[3])

    @property
    def is_redrawn(self) -> bool:
        """Says whether the runs have other wordings, and not the same ones."""
        return bool((self.stratum != SAME_WORDING).any())


def answers_table(
    side: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    temperature: NDArray[np.int64],
    is_original: NDArray[np.bool_],
    repetition: NDArray[np.int64],
    label: NDArray[np.int64],
    gold: NDArray[np.int64],
    n_classes: int,
) -> AnswersTable | str:
    """Collects the answers that both runs have, or says why there are none. Takes the arguments of `paired_values`."""
    kept = samples_of_both(side, sample)
    if kept is None:
        return OTHER_SAMPLES
    kind_code, kinds = dense_codes(temperature * 2 + is_original)
    slots = match_variants(side[kept], variant[kept], kind_code[kept])
    if len(slots.stratum) == 0:
        return OTHER_VARIANTS
    slot = np.full(len(side), -1)
    slot[kept] = slots.slot
    kept = slot >= 0
    side, slot, label, gold = side[kept], slot[kept], label[kept], gold[kept]
    unit, samples = dense_codes(sample[kept])
    layer, _ = dense_codes(repetition[kept])
    # an ask is a slot with one number for the wording's temperature and whether it is the original
    ask, asks = dense_codes(slot * len(kinds) + kind_code[kept])
    n_samples = int(unit.max()) + 1
    labels = np.full((2, len(asks), int(layer.max()) + 1, n_samples), MISSING, np.int16)
    codes = np.where(label < 0, n_classes - 1, label).astype(np.int16)
    order = np.argsort(
        -codes, kind="stable"
    )  # where an answer stands twice, the label that is first in the task counts, in any order of rows
    labels[side[order], ask[order], layer[order], unit[order]] = codes[order]
    labels[:, (labels == MISSING).any(axis=0)] = MISSING

    gold_of = np.full((2, n_samples), -1)
    np.maximum.at(gold_of, (side, unit), gold)
    agreed = np.where(gold_of[0] == gold_of[1], gold_of[0], -1)
    ask_slot, ask_kind = asks // len(kinds), kinds[asks % len(kinds)]
    table = AnswersTable(
        labels=labels,
        ask_slot=ask_slot,
        ask_temperature=ask_kind // 2,
        is_original=(ask_kind % 2).astype(np.bool_),
        stratum=slots.stratum,
        gold=agreed,
        n_classes=n_classes,
        samples=samples,
    )
    return _without_empty(table)


def _without_empty(table: AnswersTable) -> AnswersTable | str:
    # `is_original` comes in per ask
    is_given = table.labels[0] != MISSING
    n_cells = is_given.sum(axis=(0, 1))
    is_given &= n_cells >= FEWEST_CELLS * n_cells.max(initial=0)
    asks, layers, samples = (np.flatnonzero(is_given.any(axis=axes)) for axes in ((1, 2), (0, 2), (0, 1)))
    if len(samples) < 2:
        return OTHER_SAMPLES
    samples = samples[np.argsort(table.gold[samples], kind="stable")]
    slot, slots = dense_codes(table.ask_slot[asks])
    is_original = np.zeros(len(slots), np.bool_)
    is_original[slot[table.is_original[asks]]] = True
    return AnswersTable(
        labels=np.ascontiguousarray(table.labels[:, asks][:, :, layers][:, :, :, samples]),
        ask_slot=slot,
        ask_temperature=table.ask_temperature[asks],
        is_original=is_original,
        stratum=table.stratum[slots],
        gold=table.gold[samples],
        n_classes=table.n_classes,
        samples=table.samples[samples],
    )
