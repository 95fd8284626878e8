"""Measures how far the label of one sample depends on the wording, and tests whether repetition noise explains that."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.measures.entropy import plug_in_terms
from promptaudit.udfs.measures.sensitivity import FEWEST_CORRECTED
from promptaudit.udfs.resampling import generator, t_quantile

PERMUTATIONS = 1999
_PURPOSE = 14


class SampleSensitivity(NamedTuple):
    """The corrected sensitivity of one sample with its bounds for other wordings; NaN where undefined."""

    corrected: float
    low: float
    high: float


@lru_cache(maxsize=8)
def _weights(q: int) -> NDArray[np.float64]:
    return generator(0, _PURPOSE + 1).dirichlet(np.ones(q), 500)


class WordingEffect(NamedTuple):
    """How often two answers to one sample disagree; NaN where undefined.

    Attributes:
        repeat: share of disagreeing answers of one wording asked twice, in [0, 1].
        variant: share of disagreeing answers of two wordings, in [0, 1].
        share: 1 - repeat / variant: the wording's part of the disagreement; may lie below 0 by chance.
        p_value: the probability of as much disagreement from repetitions alone, in (0, 1].
    """

    repeat: float
    variant: float
    share: float
    p_value: float


def sample_sensitivity(p: NDArray[np.float64]) -> SampleSensitivity:
    """Computes `corrected_sensitivity` of one sample, with an interval for other wordings.

    Args:
        p: shape (Q, C), share of each label, N/A among them, under each wording; rows sum to 1.

    Returns:
        `low`, `high`: corrected -+ t_{Q-1} times the larger of two deviations, clipped to [0, 1]: the deviation of the
        jackknife's pseudo-values, and the one of S_Q under random weights of the wordings (Bayesian bootstrap), without
        which labels that are given equally often get no width. Coverage, nominal 95 %, of labels drawn anew with every
        wording: .94 to 1.0 at 12 and .89 to 1.0 at 30 wordings where no label has more than .7; steadier samples are
        covered less, unanimous ones get [0, 0], which says nothing about wordings that were not asked. All NaN below
        FEWEST_CORRECTED wordings and for C < 2.
    """
    q, n_classes = p.shape
    if q < FEWEST_CORRECTED or n_classes < 2:
        return SampleSensitivity(np.nan, np.nan, np.nan)
    total = p.sum(axis=0)
    whole = float(plug_in_terms(total / q).sum())
    without = plug_in_terms(np.maximum(total - p, 0) / (q - 1)).sum(axis=1)
    pseudo = (q * whole - (q - 1) * without) / np.log(n_classes)
    corrected = float(np.clip(pseudo.mean(), 0, 1))
    by_weights = plug_in_terms(_weights(q) @ p).sum(axis=1)
    variance = max(float(pseudo.var(ddof=1)) / q, float(np.square((by_weights - whole) / np.log(n_classes)).mean()))
    half = t_quantile(q - 1) * float(np.sqrt(variance))
    return SampleSensitivity(corrected, *np.clip([corrected - half, corrected + half], 0, 1).tolist())


def wording_effect(
    variant: NDArray[np.int64], label: NDArray[np.int64], seed: int, n_permutations: int = PERMUTATIONS
) -> WordingEffect:
    """Tests whether the answers to one sample differ between wordings by more than within a repeated one.

    Where wording has no effect the answers are exchangeable over all asks: the p-value is the share of random
    exchanges, the observed order among them, in which repetitions of a wording agree at least as often as they do.

    Args:
        variant: shape (n,), dense codes of wordings.
        label: shape (n,), dense codes, N/A being one of them.
        seed: of the exchanges; equal layouts of wordings get equal ones.
        n_permutations: B; the smallest p-value is 1 / (B + 1).

    Returns:
        `repeat`, `share` and `p_value` are NaN unless two wordings at least were asked twice, `variant` for fewer than
        two wordings; `share` is NaN and the p-value 1 where no two answers differ.
    """
    order = np.argsort(variant, kind="stable")
    size = np.bincount(variant)
    starts = np.cumsum(size) - size
    n_variants, n_labels = len(size), int(label.max()) + 1
    counts = np.zeros((n_variants, n_labels))
    np.add.at(counts, (variant, label), 1)
    p = counts / size[:, None]
    between = np.nan
    if n_variants >= 2:
        agreeing = float(np.square(p.sum(axis=0)).sum() - np.square(p).sum())
        between = 1 - agreeing / (n_variants * (n_variants - 1))
    is_repeated = size >= 2
    if is_repeated.sum() < 2:
        return WordingEffect(np.nan, between, np.nan, np.nan)
    weight = np.where(is_repeated, 1 / np.maximum(size * (size - 1), 1), 0.0) / is_repeated.sum()
    observed = float((counts * (counts - 1)).sum(axis=1) @ weight)
    repeat = 1 - observed
    if not between > 0:
        return WordingEffect(repeat, between, np.nan, 1.0)
    exchanged = label[order][_exchanges(seed, len(label), n_permutations)]
    agreement = np.zeros(n_permutations)
    for code in range(n_labels):
        of_label = np.add.reduceat((exchanged == code).astype(np.float64), starts, axis=1)
        agreement += (of_label * (of_label - 1)) @ weight
    n_as_large = int((agreement >= observed - 1e-12).sum())
    return WordingEffect(repeat, between, 1 - repeat / between, (1 + n_as_large) / (n_permutations + 1))


@lru_cache(maxsize=1)  # samples of one run have one layout: more would only fill memory
def _exchanges(seed: int, n: int, n_permutations: int) -> NDArray[np.int64]:
    places = np.tile(np.arange(n), (n_permutations, 1))
    return generator(seed, _PURPOSE).permuted(places, axis=1)


def discoveries(p_values: NDArray[np.float64], rate: float = 0.05) -> NDArray[np.bool_]:
    """Marks the p-values of which at most a share of `rate` is expected to be false (Benjamini-Hochberg).

    Args:
        p_values: shape (n,); NaN is no test and no discovery.
        rate: in (0, 1).
    """
    is_tested = ~np.isnan(p_values)
    ranked = np.sort(p_values[is_tested])
    passed = np.flatnonzero(ranked <= rate * np.arange(1, len(ranked) + 1) / max(len(ranked), 1))
    threshold = ranked[passed[-1]] if len(passed) else -1.0
    return np.asarray(is_tested & (np.nan_to_num(p_values, nan=2.0) <= threshold))
