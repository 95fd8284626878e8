"""Makes the measures of a table of answers, ready for exchanges and resamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.alphas import Alphas
from promptaudit.udfs.comparison.answers_table import AnswersTable
from promptaudit.udfs.comparison.figures import Figures, Floats
from promptaudit.udfs.comparison.lattice import lattice_of
from promptaudit.udfs.comparison.matching import SAME_WORDING
from promptaudit.udfs.comparison.rates import Rates
from promptaudit.udfs.comparison.shares import Shares
from promptaudit.udfs.stability.krippendorff import Level


def measured(table: AnswersTable, numbers: Floats, level: Level) -> list[Figures]:
    """Returns the measures that the table's answers allow; those that are computed together are one `Figures`."""
    # N/A, the code behind the labels, is one more of them where they have no order
    rated = np.append(numbers, len(numbers)) if level == "nominal" else numbers
    alphas = (_intra(table, rated, level), _inter(table, rated, level))
    return [*_means(table), *(figures for figures in alphas if figures is not None)]


def _means(table: AnswersTable) -> list[Shares | Rates]:
    n_asked = (table.labels[0] >= 0).sum(axis=1)
    n_asks = np.zeros((table.n_slots, table.n_samples), np.int64)  # of each slot and sample
    np.add.at(n_asks, table.ask_slot, n_asked > 0)
    is_given = np.tile(n_asks > 0, (2, 1))
    n_parts = n_asked * n_asks[table.ask_slot]
    share = _shares(table, n_parts)
    has_gold = bool((table.gold >= 0).any())

    figures: list[Shares | Rates] = []
    if has_gold or (n_asks > 0).sum(axis=0).max() >= 2:
        figures.append(Shares(share, is_given, table.gold, lattice_of(n_parts[n_parts > 0], table.n_slots)))
    if has_gold:
        right = share[table.gold, :, np.arange(table.n_samples)].T
        figures.append(Rates(("micro_f1",), right, is_given & (table.gold >= 0)))
    figures.append(Rates(("invalid_rate",), share[-1], is_given))
    return figures


def _shares(table: AnswersTable, n_parts: NDArray[np.int64]) -> Floats:
    """Share of each label in each cell, shape (n_classes, 2 n_slots, N): repetitions first, then asks of one wording."""
    share = np.zeros((table.n_classes, 2, table.n_slots, table.n_samples))
    part = 1 / np.maximum(n_parts, 1)
    for ask, slot in enumerate(table.ask_slot.tolist()):
        for labels in table.labels[:, ask].transpose(1, 0, 2):
            run, sample = np.nonzero(labels >= 0)
            share[labels[run, sample], run, slot, sample] += part[ask, sample]
    return share.reshape(table.n_classes, 2 * table.n_slots, table.n_samples)


def _inter(table: AnswersTable, numbers: Floats, level: Level) -> Alphas | None:
    """PSS between wordings: of each paraphrase temperature, of each repetition that all its wordings have."""
    is_asked = (table.labels[0] >= 0).any(axis=2)
    groups, units = [], []
    for temperature in np.unique(table.ask_temperature[table.ask_temperature >= -1]):
        # an original without a temperature joins every temperature
        joins = (table.ask_temperature == -1) & table.is_original[table.ask_slot]
        members = np.flatnonzero((table.ask_temperature == temperature) | joins)
        n_given = (table.labels[0, members] >= 0).sum(axis=(0, 2))
        # a repetition for a part of the samples is no replicate of the others
        layers = np.flatnonzero(is_asked[members].all(axis=0) & (2 * n_given >= n_given.max()))
        if len(members) >= 2 and len(layers):
            groups.append([np.ascontiguousarray(table.labels[:, members, layer]) for layer in layers])
            units.append(table.ask_slot[members])
    return Alphas("pss_inter", groups, units, numbers, level, 2 * table.n_slots) if groups else None


def _intra(table: AnswersTable, numbers: Floats, level: Level) -> Alphas | None:
    """PSS between repetitions of the original, where both runs have the same one."""
    is_ours = table.is_original & (table.stratum == SAME_WORDING)
    asks = np.flatnonzero(is_ours[table.ask_slot])
    ratings = table.labels[:, asks].reshape(2, -1, table.n_samples)
    ratings = ratings[:, (ratings[0] >= 0).any(axis=1)]
    if ratings.shape[1] < 2:
        return None
    return Alphas("pss_intra", [[ratings]], [np.empty(0, np.int64)], numbers, level, 0)
