"""Bounds of consistency for other wordings, against loops that leave out samples and units of wordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from promptaudit.udfs.measures.consistency_wordings import consistency_wordings
from promptaudit.udfs.resampling import Interval

Shares = NDArray[np.float64]  # samples x wordings x labels; a cell that was not asked is 0 throughout


def random_shares(seed: int, n: int = 30, q: int = 5, repetitions: int = 2) -> Shares:
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(3), (n, 1)) + rng.dirichlet(np.ones(3), (1, q))
    return rng.multinomial(repetitions, own / own.sum(axis=2, keepdims=True)) / repetitions


def bounds_of(shares: Shares, gold: Sequence[int], unit: Sequence[int] | None = None) -> Interval:
    sample, variant, label = np.nonzero(shares)
    units = np.arange(shares.shape[1]) if unit is None else np.array(unit)
    golds = np.array(gold)[sample]
    return consistency_wordings(golds, sample, variant, units[variant], label, shares[sample, variant, label])


def by_loops(shares: Shares, gold: Sequence[int]) -> float:
    """1 - mean distance over all ordered pairs of a class; a sample without an answer is left out."""
    n_asked = (shares.sum(axis=2) > 0).sum(axis=1)
    p_tau = np.array([own.sum(axis=0) / n for own, n in zip(shares, n_asked, strict=True) if n])
    classes = np.array(gold)[n_asked > 0]
    distances = np.abs(p_tau[:, None] - p_tau).sum(axis=2) / 2
    return float(1 - distances[classes[:, None] == classes].mean())


def variance_over_samples(shares: Shares, gold: Sequence[int]) -> float:
    """The jackknife within each class, of distances between two samples, at the weight that its pairs have among all."""
    n_pairs, variance = sum(gold.count(k) ** 2 for k in set(gold)), 0.0
    for k in set(gold):
        own = shares[np.array(gold) == k]
        n = len(own)
        if n > 2:
            # 1 - by_loops counts pairs of a sample with itself: the distinct ones are fewer
            without = [(1 - by_loops(np.delete(own, i, 0), [k] * (n - 1))) * (n - 1) / (n - 2) for i in range(n)]
            variance += (n * (n - 1) / n_pairs) ** 2 * (n - 1) * float(np.var(without))
    return variance


def half_width(of_samples: float, of_units: float, samples_free: int, units_free: float) -> float:
    total = of_samples + of_units
    free = total**2 / (of_samples**2 / samples_free + of_units**2 / units_free)
    return float(t.ppf(0.975, free) * np.sqrt(total))


def expected(shares: Shares, gold: list[int], unit: Sequence[int]) -> tuple[float, float]:
    figure, n_units = by_loops(shares, gold), max(unit) + 1
    without = [by_loops(shares[:, np.array(unit) != each], gold) for each in range(n_units)]
    of_units = (n_units - 1) * float(np.var(without))
    free = 1 / sum((unit.count(each) / len(unit)) ** 2 for each in range(n_units)) - 1
    half = half_width(variance_over_samples(shares, gold), of_units, len(gold) - len(set(gold)), free)
    return figure - half, figure + half


@pytest.mark.parametrize("unit", [[0, 1, 2, 3, 4], [0, 1, 1, 2, 2], [2, 0, 1, 0, 0]])
@pytest.mark.parametrize("gold", [[0] * 90, [0] * 60 + [1] * 27 + [2] * 2 + [3]])
def test_equals_leaving_out_samples_and_units(gold: list[int], unit: list[int]) -> None:
    shares = random_shares(4, len(gold))
    assert bounds_of(shares, gold, unit) == pytest.approx(expected(shares, gold, unit))


def test_cells_that_were_not_asked_are_left_out() -> None:
    shares = random_shares(5, 90)
    shares[0, 1:] = 0  # without the first wording this sample has no answer
    shares[1:20, 2] = 0
    figure = by_loops(shares, [0] * 90)
    own = bounds_of(shares, [0] * 90)
    without = [by_loops(np.delete(shares, v, 1), [0] * 90) for v in range(5)]
    of_units = 4 * float(np.var(without))
    half = half_width(variance_over_samples(shares, [0] * 90), of_units, 89, 4)
    assert own.high == pytest.approx(figure + half)
    assert own.low <= figure - half + 1e-12  # no more than 20 samples bear the variance


def test_copies_of_wordings_say_no_more_where_they_are_one_unit() -> None:
    shares, gold = random_shares(6, 90), [0] * 90
    twice = np.repeat(shares, 2, axis=1)
    assert bounds_of(twice, gold, np.arange(10) // 2) == pytest.approx(bounds_of(shares, gold))
    narrow, wide = bounds_of(twice, gold), bounds_of(shares, gold)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_unanimous_samples_are_not_certain() -> None:
    # as without wordings: they add no variance, and 40 samples are what is known
    low, high = bounds_of(np.eye(2)[np.zeros((40, 12), int)], [0] * 40)
    assert high == 1
    assert low == pytest.approx(0.8562, abs=1e-4)


def test_what_cannot_be_bounded_is_undefined() -> None:
    shares = random_shares(7, 40)
    assert np.isnan(bounds_of(shares[:, :2], [0] * 40)).all()
    assert np.isnan(bounds_of(shares, [0] * 40, [0, 0, 0, 1, 1])).all()
    assert np.isnan(bounds_of(shares, [0, 1, 2] * 13 + [0])).all()
    assert np.isnan(bounds_of(shares[:0], [])).all()
