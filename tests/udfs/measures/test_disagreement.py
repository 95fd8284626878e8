"""Shares of disagreement against loops over pairs of answers, their bounds against leaving samples and wordings out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t

from promptaudit.udfs.measures import disagreement
from promptaudit.udfs.measures.disagreement import DisagreementShares, disagreement_shares

Counts = NDArray[np.int64]  # samples x variants x labels: how often each label was given
SHARES = ("wording_share", "noise_share", "item_share")


def random_counts(seed: int, n: int, q: int, repetitions: int = 2) -> Counts:
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(3), (n, 1)) + rng.dirichlet(np.ones(3), (1, q))
    return rng.multinomial(repetitions, own / own.sum(axis=2, keepdims=True))


def shares_of(counts: Counts, unit: Sequence[int] | None = None) -> DisagreementShares:
    sample, variant, label = np.nonzero(counts)
    units = np.arange(counts.shape[1]) if unit is None else np.array(unit)
    return disagreement_shares(sample, variant, units[variant], label, counts[sample, variant, label].astype(float))


def by_loops(counts: Counts) -> NDArray[np.float64]:
    """Wording, noise and item from pairs of asks, of variants and of samples; cells without an answer are left out."""
    repeats, variants, p_tau = [], [], []
    for own in counts:
        cells = [cell for cell in own if cell.sum()]
        for cell in cells:
            asks = [label for label, n in enumerate(cell) for _ in range(n)]
            if len(asks) > 1:
                repeats.append(np.mean([a != b for a, b in permutations(asks, 2)]))
        p = [cell / cell.sum() for cell in cells]
        if len(p) > 1:
            variants.append(np.mean([1 - a @ b for a, b in permutations(p, 2)]))
        if p:
            p_tau.append(np.mean(p, axis=0))
    d_repeat, d_variant = np.mean(repeats), np.mean(variants)
    d_sample = np.mean([1 - a @ b for a, b in permutations(p_tau, 2)])
    return np.array([d_variant - d_repeat, d_repeat, d_sample - d_variant]) / d_sample


def test_two_samples_by_hand() -> None:
    # sample 0: both asks of both wordings differ, D_variant = 1/2; sample 1: aa under one wording and bb under the other, 1
    # D_repeat (1 + 1 + 0 + 0)/4 = 1/2, D_variant 3/4, D_sample 1/2: wording 1/2, noise 1, item -1/2
    own = shares_of(np.array([[[1, 1], [1, 1]], [[2, 0], [0, 2]]]))
    assert [getattr(own, share) for share in SHARES] == pytest.approx([0.5, 1, -0.5])
    assert np.isnan([own.wording_share_low, own.item_share_high, own.noise_share_wordings_low]).all()


@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(2, 4), st.integers(2, 3), st.booleans())
@settings(max_examples=40)
def test_shares_equal_loops_over_pairs(seed: int, n: int, q: int, repetitions: int, has_holes: bool) -> None:
    counts = random_counts(seed, n, q, repetitions)
    counts[0, 0] = [0, 0, 1]
    counts[1] = np.eye(3, dtype=int)[1] * 2  # some sample has another label, and wordings that were asked twice
    if has_holes:
        counts[2, 1:] = 0
    own = shares_of(counts)
    wanted = by_loops(counts)
    assert [getattr(own, share) for share in SHARES] == pytest.approx(np.clip(wanted, -1, 1))
    assert sum(wanted) == pytest.approx(1)


class Expected(NamedTuple):
    """Bounds of the three shares, shape (3,) each."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    wordings_low: NDArray[np.float64]
    wordings_high: NDArray[np.float64]


def bounds_by_loops(counts: Counts, unit: Sequence[int]) -> Expected:
    n, n_units = len(counts), max(unit) + 1
    shares = by_loops(counts)
    samples = (n - 1) * np.var([by_loops(np.delete(counts, i, 0)) for i in range(n)], axis=0)
    without = [by_loops(counts[:, np.array(unit) != each]) for each in range(n_units)]
    total = samples + (n_units - 1) * np.var(without, axis=0)
    units_free = 1 / sum((unit.count(each) / len(unit)) ** 2 for each in range(n_units)) - 1
    free = total**2 / (samples**2 / (n - 1) + (total - samples) ** 2 / units_free)
    own, wide = t.ppf(0.975, n - 1) * np.sqrt(samples), t.ppf(0.975, free) * np.sqrt(total)
    return Expected(*np.clip([shares - own, shares + own, shares - wide, shares + wide], -1, 1))


@pytest.mark.parametrize("unit", [[0, 1, 2, 3], [1, 0, 2, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_equal_leaving_out_samples_and_units(
    monkeypatch: pytest.MonkeyPatch, seed: int, unit: list[int]
) -> None:
    monkeypatch.setattr(disagreement, "FEWEST_BEARING", 0)
    counts = random_counts(seed, 8, 4)
    counts[0, 1:3] = 0
    own = shares_of(counts, unit)
    wanted = bounds_by_loops(counts, unit)
    for k, share in enumerate(SHARES):
        for end in Expected._fields:
            assert getattr(own, f"{share}_{end}") == pytest.approx(getattr(wanted, end)[k]), (share, end)


def test_samples_that_differ_much_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = random_counts(1, 300, 4)
    own = shares_of(counts)
    monkeypatch.setattr(disagreement, "FEWEST_BEARING", 0)
    assert own == shares_of(counts)


# aa everywhere for half of the samples and bb for the others; every sample a under some wordings and b under the others
ITEM_ALONE = np.repeat(np.array([[2, 0], [0, 2]]), [20, 20], axis=0)[:, None].repeat(6, axis=1)
WORDING_ALONE = np.tile(np.array([[2, 0], [0, 2]] * 3), (40, 1, 1))


@pytest.mark.parametrize("end", ["", "_wordings"])
def test_samples_that_are_all_alike_are_not_certain(end: str) -> None:
    own = shares_of(ITEM_ALONE)
    assert (own.wording_share, own.noise_share, own.item_share) == (0, 0, 1)
    for share in SHARES:
        low, high = getattr(own, f"{share}{end}_low"), getattr(own, f"{share}{end}_high")
        assert low <= getattr(own, share) <= high
        assert 0.05 < high - low < 0.2
    own = shares_of(WORDING_ALONE)
    assert own.noise_share == 0 < own.noise_share_high
    assert own.wording_share_low < own.wording_share == own.wording_share_high == 1  # 1.03 but for the clipping
    assert own.item_share_low < own.item_share < own.item_share_high


def test_one_added_sample_by_hand() -> None:
    # 40 samples, half a and half b: D_sample = 2 * 20 * 20 / (40 * 39). One whose wordings are a coin between a and b adds .5
    # to the sum of D_variant, and .5 to the disagreement of each of its 40 pairs
    own = shares_of(ITEM_ALONE)
    d_sample = (2 * 20 * 20 + 40) / (41 * 40)
    share = 0.5 / 41 / d_sample
    # without another sample: .5 / 40 over the D_sample that is left; without the added one: 0
    less_other = 0.5 / 40 / ((2 * 19 * 20 + 39) / (40 * 39))
    without = np.append(np.full(40, less_other), 0)
    expected = share + t.ppf(0.975, 40) * np.sqrt(40 * np.var(without))
    assert own.wording_share_high == pytest.approx(expected)
    assert own.noise_share_high == pytest.approx(expected)
    assert own.item_share_low == pytest.approx(1 - expected)


def test_copies_of_wordings_say_no_more_where_they_are_one_unit() -> None:
    counts = random_counts(2, 60, 5)
    wide, narrow = shares_of(counts), shares_of(counts.repeat(2, axis=1))
    half_of = shares_of(counts.repeat(2, axis=1), np.arange(10) // 2)
    width = [each.item_share_wordings_high - each.item_share_wordings_low for each in (wide, half_of, narrow)]
    assert width[2] < 0.9 * width[1]
    assert width[1] == pytest.approx(
        width[0], rel=0.1
    )  # two copies of a wording differ by noise alone, which moves the shares


def test_what_cannot_be_measured_is_undefined() -> None:
    once = random_counts(3, 30, 4, 1)
    once[:, 0] *= 2  # the original alone was asked twice
    same = np.tile(np.array([2, 0, 0]), (30, 4, 1))
    for counts in (once, same, once[:0]):
        assert np.isnan(shares_of(counts)).all()
    two = shares_of(random_counts(3, 30, 2))
    assert two.item_share_low < two.item_share < two.item_share_high
    assert np.isnan([two.item_share_wordings_low, two.noise_share_wordings_high]).all()


def test_a_fifth_asked_twice_tells_the_noise_of_all() -> None:
    # wording 0 is steady and asked ten times throughout, the others are noisy and asked twice for a fifth: unweighted, the
    # steady one would count for as much as half of what is asked twice
    rng = np.random.default_rng(4)
    n, q, seen = 100, 6, []
    p = rng.dirichlet(np.ones(3), (n, q))
    p[:, 0] = np.eye(3)[rng.integers(0, 3, n)]
    for _ in range(60):
        n_asks = np.ones((n, q), np.int64)
        n_asks[:, 0] = 10
        for wording in range(1, q):
            n_asks[rng.permutation(n)[: n // 5], wording] = 2
        counts = rng.multinomial(n_asks, p)
        sample, variant, label = np.nonzero(counts)
        stands_for = np.where(variant == 0, 1.0, 5.0)
        given = counts[sample, variant, label].astype(float)
        own, plain = (
            disagreement_shares(sample, variant, variant, label, given, weight) for weight in (stands_for, None)
        )
        seen.append([own.noise_share, plain.noise_share])
    every = np.mean([shares_of(rng.multinomial(np.full((n, q), 20), p)).noise_share for _ in range(5)])
    mean, unweighted = np.mean(seen, axis=0)
    assert mean == pytest.approx(every, abs=0.01)
    assert unweighted < every - 0.05
