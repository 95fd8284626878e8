"""Compares the labels of two runs of one group, in every measure that is computed from labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.differences.alike_nights import Floats
from promptaudit.udfs.differences.alphas import stability_values
from promptaudit.udfs.differences.answers_table import AnswersTable, answers_table
from promptaudit.udfs.differences.availability import MEASURES, available, lacking
from promptaudit.udfs.differences.difference import KEPT
from promptaudit.udfs.differences.matching import OTHER_VARIANTS
from promptaudit.udfs.differences.values import FEW_ANSWERS, Both, Figure, Values, absent, mean_of, values_of
from promptaudit.udfs.measures.consistency import MIN_SAMPLES, AnswerShares, distance_sums
from promptaudit.udfs.measures.entropy import plug_in_terms
from promptaudit.udfs.resampling import mean_defined
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Flags, Integers
from promptaudit.udfs.stability.krippendorff import Level

SMALL_CLASS = "a class has fewer than 5 samples"


@sql_function()
def paired_values(
    side: Integers,
    sample: Integers,
    variant: Integers,
    temperature: Integers,
    is_original: Flags,
    repetition: Integers,
    label: Integers,
    gold: Integers,
    labels: Sequence[str],
    level: Level,
    are_drawn: bool,  # noqa: FBT001 - as SQL calls it
) -> list[Values]:
    """Computes what samples contribute to every measure of labels in two runs of one model, task and strategy.

    There is one entry for each answer, in any order; errors and variants that take no part are not among them. An
    answer counts where both runs have it: the same sample, variant and repetition. Where the runs share fewer than two
    variants, or fewer than half of the smaller side's, variants of one kind (temperature, original or not) stand for
    each other. Variants weigh equally, however often they were asked.

    Args:
        side: shape (n,), 0 base, 1 candidate.
        sample: shape (n,), codes, the same in both runs.
        variant: shape (n,), codes of wordings, the same in both runs.
        temperature: shape (n,), code of the paraphrase temperature, -1 for none. One wording may have several. -2 for
            what PSS between variants leaves out: variants of other kinds beside temperatures that are swept.
        is_original: shape (n,).
        repetition: shape (n,), from 1.
        label: shape (n,), position in the task's labels; -1 is N/A.
        gold: shape (n,), position in the task's labels; -1 is unknown.
        labels: of the task, in the order of its card, which counts at ordinal level; numbers at interval level.
        level: nominal, ordinal or interval.
        are_drawn: whether the difference is for other wordings though both runs have the same, as between two models.

    Returns:
        A row for each measure that a run has, with a reason where the other lacks it. A sample contributes its own
        sensitivity; to consistency twice its mean agreement with its class minus the whole; to PSS the jackknife's
        pseudo-value. In `label_churn` base is the disagreement of a cell's answers within a run, candidate the one
        across the runs.

    Source:
        Errica et al. 2025 (sensitivity, consistency), Barrie et al. 2025 (PSS).
    """
    numbers = np.array([float(each) for each in labels] if level == "interval" else range(len(labels)), np.float64)
    base, candidate = (
        available(variant[run], is_original[run], repetition[run], gold[run]) for run in (side == 0, side == 1)
    )
    rows = {
        measure: absent(measure, lacking(measure, "candidate" if measure in base else "base"))
        for measure in base ^ candidate
    }
    both = base & candidate
    table = answers_table(side, sample, variant, temperature, is_original, repetition, label, gold, len(numbers) + 1)
    if isinstance(table, str):
        rows |= {measure: absent(measure, table) for measure in both}
    else:
        rows |= {measure: absent(measure, FEW_ANSWERS) for measure in both}
        found = _measured(table, numbers, level, are_drawn=are_drawn)
        rows |= {row.measure: row for row in found if row.measure in both}
    return [rows[measure] for measure in MEASURES if measure in rows]


def _measured(table: AnswersTable, numbers: Floats, level: Level, *, are_drawn: bool) -> Iterator[Values]:
    shares, is_given = _shares(table)
    has_gold = table.gold >= 0
    n_asked = (table.labels[0] >= 0).any(axis=2).sum(axis=1)
    original = table.is_original[table.ask_slot]
    most = {of_it: int(n_asked[original == of_it].max(initial=0)) for of_it in (True, False)}
    both = Both(table.samples, table.n_slots, most[False] or most[True], table.is_redrawn, are_drawn)

    def p_tau(run: int, wordings: NDArray[np.bool_]) -> Floats:
        n = is_given[:, wordings].sum(axis=1)
        own: Floats = shares[run][:, wordings].sum(axis=1) / np.where(n > 0, n, np.nan)[:, None]
        return own

    def sensitivity(run: int, wordings: NDArray[np.bool_]) -> Figure:
        own = plug_in_terms(p_tau(run, wordings)).sum(axis=1) / math.log(table.n_classes)
        own[is_given.sum(axis=1) < 2] = np.nan
        return Figure(float(mean_defined(own)), own)

    def consistency(run: int, wordings: NDArray[np.bool_]) -> Figure:
        return _consistency(p_tau(run, wordings), table.gold)

    if table.n_slots > 1:
        yield values_of("sensitivity", sensitivity, is_given, both)
    if has_gold.any():
        row = values_of("consistency", consistency, is_given, both)
        small = np.bincount(table.gold[has_gold])
        yield row._replace(reason=SMALL_CLASS) if small[small > 0].min() < MIN_SAMPLES else row
        right = np.where(
            is_given & has_gold[:, None], shares[:, np.arange(table.n_samples), :, table.gold].swapaxes(0, 1), np.nan
        )
        yield values_of("micro_f1", mean_of(right), ~np.isnan(right[0]), both)
    invalid = np.where(is_given, shares[..., -1], np.nan)
    yield values_of("invalid_rate", mean_of(invalid), is_given, both)
    # N/A, the code behind the labels, is one more of them where they have no order
    rated = np.append(numbers, len(numbers)) if level == "nominal" else numbers
    yield from stability_values(table, rated, level, is_given, both, n_repeated=most[True])
    yield _churn(table, max(most.values()))


def _shares(table: AnswersTable) -> tuple[Floats, NDArray[np.bool_]]:
    # shape (2, n_samples, n_slots, n_classes); repetitions are averaged first, then asks of one wording under several
    # temperatures
    n_asked = (table.labels[0] >= 0).sum(axis=1)  # of each ask and sample
    n_asks = np.zeros((table.n_slots, table.n_samples), np.int64)
    np.add.at(n_asks, table.ask_slot, n_asked > 0)
    share = np.zeros((2, table.n_samples, table.n_slots, table.n_classes))
    part = 1 / np.maximum(n_asked * n_asks[table.ask_slot], 1)
    for ask, slot in enumerate(table.ask_slot.tolist()):
        for labels in table.labels[:, ask].transpose(1, 0, 2):
            run, sample = np.nonzero(labels >= 0)
            share[run, sample, slot, labels[run, sample]] += part[ask, sample]
    return share, (n_asks > 0).T


def _consistency(p_tau: Floats, gold: NDArray[np.int64]) -> Figure:
    # 1 - the mean distance over ordered pairs of a class; each sample adds twice its agreement with its class minus the
    # whole
    of_gold = np.flatnonzero((gold >= 0) & ~np.isnan(p_tau).any(axis=1))
    by_sample = np.full(len(gold), np.nan)
    if not len(of_gold):
        return Figure(np.nan, by_sample)
    classes, sizes = np.unique(gold[of_gold], return_inverse=True)[1], np.unique(gold[of_gold], return_counts=True)[1]
    sample, label = np.nonzero(np.ones(p_tau[of_gold].shape, np.bool_))
    shares = AnswerShares.from_entries(classes[sample], sample, label, p_tau[of_gold].ravel())
    agreement = np.empty(len(of_gold))
    agreement[shares.sample_code] = 1 - len(of_gold) * distance_sums(shares) / float(sizes @ sizes)
    whole = float(agreement.mean())
    by_sample[of_gold] = 2 * agreement - whole
    return Figure(whole, by_sample)


def _churn(table: AnswersTable, n_repetitions: int) -> Values:
    # 1 - sum over labels of p q, across the runs and within one, unbiased
    n_cells = (table.n_samples, len(table.ask_slot), table.n_classes)
    counts = np.zeros((2, *n_cells))
    for run in (0, 1):
        ask, layer, sample = np.nonzero(table.labels[run] >= 0)
        np.add.at(counts[run], (sample, ask, table.labels[run][ask, layer, sample]), 1)
    n = counts.sum(axis=3)
    is_asked = n[0] > 0
    across = 1 - (counts[0] * counts[1]).sum(axis=2) / np.where(is_asked, n[0] * n[1], np.nan)
    twice = n * (n - 1)
    within = 1 - (np.square(counts).sum(axis=3) - n) / np.where(twice > 0, twice, np.nan)
    own, apart = mean_defined(within.mean(axis=0).T), mean_defined(across.T)
    counts_of = ~np.isnan(apart)
    return Values(
        "label_churn",
        float(mean_defined(own)),
        float(mean_defined(apart)),
        KEPT,
        table.is_redrawn,
        False,  # noqa: FBT003 - a row
        table.n_slots,
        n_repetitions,
        OTHER_VARIANTS if table.is_redrawn else None,
        table.samples[counts_of].tolist(),
        own[counts_of].tolist(),
        apart[counts_of].tolist(),
    )
