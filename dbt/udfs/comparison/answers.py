"""Compares the labels of two runs of one group in every measure that is made of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.answers_table import AnswersTable, answers_table
from promptaudit.udfs.comparison.availability import MEASURES, available, lacking
from promptaudit.udfs.comparison.churn import label_churn
from promptaudit.udfs.comparison.compared import (
    ASKED_ONCE,
    FEW_ANSWERS,
    OTHER_SAMPLES,
    OTHER_VARIANTS,
    Compared,
    compared,
    not_comparable,
)
from promptaudit.udfs.comparison.differences import differences
from promptaudit.udfs.comparison.matching import SAME_WORDING
from promptaudit.udfs.comparison.measured import measured
from promptaudit.udfs.sql_function import sql_function
from promptaudit.udfs.sql_types import Flags, Integers
from promptaudit.udfs.stability.krippendorff import LEVELS, Level


@sql_function("compare_answers")
def compare_labels(
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
    seed: int,
    n_resamples: int,
) -> list[Compared]:
    """Returns `compare_answers` of a task with these labels: numbers at interval level, else in the order of the card."""
    numbers = [float(each) for each in labels] if level == "interval" else range(len(labels))
    return compare_answers(
        side,
        sample,
        variant,
        temperature,
        is_original,
        repetition,
        label,
        gold,
        n_classes=len(labels) + 1,
        level=level,
        numbers=np.array(numbers, np.float64),
        seed=seed,
        n_resamples=n_resamples,
    )


def compare_answers(
    side: NDArray[np.int64],
    sample: NDArray[np.int64],
    variant: NDArray[np.int64],
    temperature: NDArray[np.int64],
    is_original: NDArray[np.bool_],
    repetition: NDArray[np.int64],
    label: NDArray[np.int64],
    gold: NDArray[np.int64],
    *,
    n_classes: int,
    level: Level,
    numbers: NDArray[np.float64],
    seed: int,
    n_resamples: int,
) -> list[Compared]:
    """Returns every measure of labels of one model, task and strategy in two runs, compared on what both have.

    There is one entry for each answer, in any order; errors and variants that take no part are not among them. An answer
    counts where both runs have it: the same sample, variant and repetition. Where the runs share fewer than two variants, or
    fewer than half of the smaller side's, variants of one kind (temperature, original or not) stand for each other; then there
    must be ten a side. Variants weigh equally, however often they were asked.

    Args:
        side: shape (n,), 0 base, 1 candidate.
        sample: shape (n,), codes, the same in both runs.
        variant: shape (n,), codes of wordings, the same in both runs.
        temperature: shape (n,), code of the paraphrase temperature, -1 for none. One wording may have several. -2 for what PSS
            between variants leaves out: variants of other kinds beside temperatures that are swept.
        is_original: shape (n,).
        repetition: shape (n,), from 1.
        label: shape (n,), position in the task's labels; -1 is N/A.
        gold: shape (n,), position in the task's labels; -1 is unknown.
        n_classes: labels + 1, at least 2.
        level: nominal, ordinal or interval.
        numbers: shape (n_classes - 1,), the labels as numbers; at ordinal level their order alone counts.
        seed: of all draws.
        n_resamples: B.

    Returns:
        A row for each measure that both runs have, and one with a reason for each that one of them lacks or that cannot
        be compared. The p-value is the larger of two: from exchanging whole samples between the runs, and whole
        variants; `pss_intra` has the first alone. For `label_churn` base is the disagreement within the runs, candidate
        that across them, and p is one-sided. Exchanging base and candidate turns the signs and leaves p unchanged.

    Raises:
        ValueError: an unknown level, or numbers and n_classes that do not fit.

    Source:
        Errica et al. 2025 (sensitivity, consistency), Barrie et al. 2025 (PSS).
    """
    if level not in LEVELS:
        message = f"level must be one of {', '.join(LEVELS)}, got {level!r}"
        raise ValueError(message)
    if n_classes < 2 or len(numbers) != n_classes - 1:
        message = f"n_classes must be at least 2 and one more than numbers, got {n_classes} and {len(numbers)} numbers"
        raise ValueError(message)
    base, candidate = (
        available(variant[run], is_original[run], repetition[run], gold[run]) for run in (side == 0, side == 1)
    )
    rows: dict[str, Compared] = {
        measure: not_comparable(measure, lacking(measure, "candidate" if measure in base else "base"))
        for measure in base ^ candidate
    }
    both = base & candidate
    table = answers_table(side, sample, variant, temperature, is_original, repetition, label, gold, n_classes)
    if isinstance(table, str):
        rows |= {measure: not_comparable(measure, table) for measure in both}
    else:
        rows |= {measure: not_comparable(measure, _absence(measure, table)) for measure in both}
        rows |= {row.measure: row for row in _rows(table, numbers, level, seed, n_resamples) if row.measure in both}
    return [rows[measure] for measure in MEASURES if measure in rows]


def _absence(measure: str, table: AnswersTable) -> str:
    """Why a measure that both runs have is none of what they share."""
    has_same_original = (table.is_original & (table.stratum == SAME_WORDING)).any()
    return OTHER_VARIANTS if measure == "pss_intra" and not has_same_original else FEW_ANSWERS


def _rows(
    table: AnswersTable, numbers: NDArray[np.float64], level: Level, seed: int, n_resamples: int
) -> list[Compared]:
    """Returns the measures of a table that have a figure in both runs, then label churn."""
    table = table.in_fixed_order()
    n_asked = (table.labels[0] >= 0).any(axis=2).sum(axis=1)  # repetitions of each ask
    is_original = table.is_original[table.ask_slot]
    most = {True: int(n_asked[is_original].max(initial=0)), False: int(n_asked[~is_original].max(initial=0))}
    rows = []
    # where wordings cannot be told from noise figures stand without draws; the original's own are still tested
    measures = measured(table, numbers, level)
    tested = [figures for figures in measures if table.reason is None or figures.n_units == 0]
    rest = [figures for figures in measures if figures not in tested]
    by_measure = differences(tested, table.stratum, table.n_samples, seed, n_resamples)
    by_measure += differences(rest, table.stratum, table.n_samples, seed, 0)
    for figures, of_figures in zip(tested + rest, by_measure, strict=True):
        reason = table.reason if figures in rest else None
        n_variants = table.n_slots if figures.n_units else int(is_original.sum())
        n_repetitions = most[False] if figures.n_units and most[False] else most[True]
        for difference, n_samples in zip(of_figures, figures.n_samples, strict=True):
            row = compared(difference, n_samples, n_variants, n_repetitions, reason, is_exchanged=table.is_exchanged)
            if not np.isnan(row.difference):
                rows.append(row)
    rows.append(_churn(table, n_repetitions=max(most.values())))
    return rows


def _churn(table: AnswersTable, n_repetitions: int) -> Compared:
    if (table.stratum != SAME_WORDING).any():
        return not_comparable("label_churn", OTHER_VARIANTS)
    churn = label_churn(table.labels, table.n_classes)
    return Compared(
        "label_churn",
        base=churn.within,
        candidate=churn.across,
        difference=churn.churn,
        low=float(np.clip(churn.low, -1, 1)),
        high=float(np.clip(churn.high, -1, 1)),
        p_value=churn.p_value,
        p_value_samples=churn.p_value,
        p_value_variants=np.nan,
        standard_error=churn.standard_error,
        degrees_of_freedom=churn.n_samples - 1,
        n_samples=churn.n_samples,
        n_variants=table.n_slots,
        n_repetitions=n_repetitions,
        reason=None if not np.isnan(churn.p_value) else ASKED_ONCE if np.isnan(churn.within) else OTHER_SAMPLES,
    )
