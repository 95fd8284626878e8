"""Corrected sensitivity and its two-way jackknife against loops that leave out variants one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import entr
from scipy.stats import t

from promptaudit.udfs.measures.entropy import expected_plug_in_entropy
from promptaudit.udfs.measures.sensitivity import SensitivityInterval, corrected_sensitivity, sensitivity_interval

Shares = NDArray[np.float64]


def entropy(shares: Shares, n_classes: int) -> float:
    p = shares.mean(axis=0)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum() / np.log(n_classes))


def corrected(shares: Shares, n_classes: int) -> float:
    """[Q^2 S_Q - 2 (Q - 1)^2 S_{Q-1} + (Q - 2)^2 S_{Q-2}] / 2 of one sample; shares (Q, C)."""
    q = len(shares)
    if q == 1:
        return entropy(shares, n_classes)
    one, two = (
        float(np.mean([entropy(np.delete(shares, out, axis=0), n_classes) for out in combinations(range(q), k)]))
        if k < q
        else 0.0
        for k in (1, 2)
    )
    return (q**2 * entropy(shares, n_classes) - 2 * (q - 1) ** 2 * one + (q - 2) ** 2 * two) / 2


def interval_by_loops(shares: Shares, n_classes: int) -> SensitivityInterval:
    """The upper bound is the larger of the plain one and that with one more sample, split between two labels."""
    split = np.eye(shares.shape[2])[np.arange(shares.shape[1]) % 2]
    plain, one_more = (plain_interval(table, n_classes) for table in (shares, np.append(shares, split[None], axis=0)))
    return plain._replace(high=max(plain.high, one_more.high))


def plain_interval(shares: Shares, n_classes: int) -> SensitivityInterval:
    n, q, _ = shares.shape
    by_sample = np.array([corrected(own, n_classes) for own in shares])
    less_one = np.array([[corrected(np.delete(own, v, axis=0), n_classes) for v in range(q)] for own in shares])
    pseudo = q * by_sample[:, None] - (q - 1) * less_one
    residual = pseudo - pseudo.mean(axis=1, keepdims=True) - pseudo.mean(axis=0) + pseudo.mean()
    samples, variants = by_sample.var(ddof=1) / n, pseudo.mean(axis=0).var(ddof=1) / q
    both = (residual**2).sum() / ((n - 1) * (q - 1)) / (n * q)
    half = t.ppf(0.975, q - 1) * np.sqrt(max(samples + variants - both, samples, variants))
    return SensitivityInterval(by_sample.mean(), by_sample.mean() - half, by_sample.mean() + half)


def interval_of(shares: Shares, n_classes: int) -> SensitivityInterval:
    sample, variant, label = np.nonzero(shares)
    return sensitivity_interval(sample, variant, label, shares[sample, variant, label], n_classes)


def random_shares(seed: int, n: int, q: int, repetitions: int = 1, n_labels: int = 4) -> Shares:
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(n_labels), n)
    answers = np.array([[rng.multinomial(repetitions, p) for _ in range(q)] for p in own])
    return answers / repetitions


def test_thirty_variants_in_counts() -> None:
    # 24 A, 3 B, 3 N/A: leaving out an A gives (23, 3, 3)/29, 24 times of 30, else (24, 2, 3)/29; and so on for two
    shares = np.repeat(np.eye(3), [24, 3, 3], axis=0)

    def s(*counts: int) -> float:
        p = np.array(counts) / sum(counts)
        return float(-(p * np.log(p)).sum() / np.log(3))

    one = 0.8 * s(23, 3, 3) + 0.2 * s(24, 2, 3)
    two = (24 * 23 * s(22, 3, 3) + 2 * 24 * 6 * s(23, 2, 3) + 2 * 3 * 2 * s(24, 1, 3) + 2 * 9 * s(24, 2, 2)) / (30 * 29)
    expected = (30**2 * s(24, 3, 3) - 2 * 29**2 * one + 28**2 * two) / 2
    assert interval_of(shares[None], 3).corrected == pytest.approx(expected)


def test_two_variants_leave_single_ones() -> None:
    # two answers, both different: 2 * ln 2 / ln 3 - 0
    assert interval_of(np.eye(3)[None, :2], 3).corrected == pytest.approx(2 * np.log(2) / np.log(3))


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(3, 6), st.integers(1, 3))
@settings(max_examples=30)
def test_equals_leaving_out_variants_one_by_one(seed: int, n: int, q: int, repetitions: int) -> None:
    shares = random_shares(seed, n, q, repetitions)
    assert interval_of(shares, 5) == pytest.approx(interval_by_loops(shares, 5), abs=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_names_and_order_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = random_shares(seed, 6, 5, 2)
    shuffled = shares[rng.permutation(6)][:, rng.permutation(5)][:, :, rng.permutation(4)]
    assert interval_of(shuffled, 5) == pytest.approx(interval_of(shares, 5), abs=1e-9)


def test_duplicated_variants_change_it() -> None:
    # the plug-in figure stays (same p_tau), the corrected one takes copies for evidence
    shares = random_shares(1, 5, 4)
    doubled = np.repeat(shares, 2, axis=1)
    assert entropy(doubled[0], 5) == pytest.approx(entropy(shares[0], 5))
    assert interval_of(doubled, 5).corrected != pytest.approx(interval_of(shares, 5).corrected, abs=1e-3)


def test_a_missing_cell_is_left_out() -> None:
    shares = random_shares(3, 8, 6)
    sample, variant, label = np.nonzero(shares)
    kept = (sample != 2) | (variant != 4)
    p = shares[sample, variant, label]
    got = sensitivity_interval(sample[kept], variant[kept], label[kept], p[kept], 5)
    expected = [corrected(np.delete(own, 4, axis=0) if i == 2 else own, 5) for i, own in enumerate(shares)]
    assert got.corrected == pytest.approx(np.mean(expected))
    assert got.high - got.low == pytest.approx(interval_of(shares, 5).high - interval_of(shares, 5).low, rel=0.5)


def test_undefined_figures() -> None:
    one, two = random_shares(0, 3, 1), random_shares(0, 3, 2)
    assert np.isnan(interval_of(one, 5)).all()
    assert np.isnan(interval_of(two, 5)).tolist() == [False, True, True]
    assert np.isnan(interval_of(random_shares(0, 1, 5), 5)).tolist() == [False, True, True]
    assert np.isnan(interval_of(two, 1)).all()
    empty = np.empty(0, np.int64)
    assert np.isnan(sensitivity_interval(empty, empty, empty, np.empty(0), 3)).all()
    assert np.isnan(corrected_sensitivity(empty, empty, empty, np.empty(0), np.array([3, 3]))).all()


def test_repetitions_alone_give_no_wording_spread_but_an_interval() -> None:
    interval = interval_of(random_shares(5, 200, 20, 2), 4)
    assert interval.low < interval.corrected < interval.high


def test_the_interval_covers() -> None:
    """One world, 60 audits of 150 samples x 12 variants: the true figure lies inside in about 95 % of them."""
    rng = np.random.default_rng(7)
    n_labels, n, q = 4, 150, 12

    def probabilities(n_samples: int, n_variants: int) -> Shares:
        logits = 2.5 * rng.standard_normal((n_samples, 1, n_labels)) + 0.7 * rng.standard_normal(
            (1, n_variants, n_labels)
        )
        weight = np.exp(logits + 0.4 * rng.standard_normal((n_samples, n_variants, n_labels)))
        return np.asarray(weight / weight.sum(axis=2, keepdims=True))

    many = [probabilities(200, 200).mean(axis=1) for _ in range(20)]
    truth = np.mean([-(p * np.log(p)).sum(axis=1).mean() / np.log(n_labels) for p in many])
    n_covering = 0
    for _ in range(60):
        answer = (rng.random((n, q, 1)) > probabilities(n, q).cumsum(axis=2)).sum(axis=2)
        interval = interval_of(np.eye(n_labels)[np.minimum(answer, n_labels - 1)], n_labels)
        n_covering += interval.low <= truth <= interval.high
    assert n_covering >= 52


@pytest.mark.parametrize("n_variants", [8, 12, 30])
def test_nearly_unanimous_samples_leave_doubt(n_variants: int) -> None:
    """Of 40 samples 1 in 60 has a wording effect: mostly all 40 are unanimous, and the bounds say no more than they know."""
    rng = np.random.default_rng(n_variants)
    n_labels, n, rare = 4, 40, 1 / 60
    truth = rare * np.log(2) / np.log(n_labels)
    n_covering = n_covering_plainly = 0
    for _ in range(60):
        answer = np.where(rng.random((n, 1)) < rare, rng.integers(0, 2, (n, n_variants)), 0)
        interval = interval_of(np.eye(n_labels)[answer], n_labels)
        n_covering += interval.low <= truth <= interval.high
        n_covering_plainly += interval.low <= truth <= 2 * interval.corrected - interval.low
    assert n_covering >= 57
    assert n_covering_plainly <= 50


def test_one_more_sample_widens_nothing_where_samples_differ() -> None:
    interval = interval_of(random_shares(11, 200, 12), 4)
    assert interval.high - interval.corrected == pytest.approx(interval.corrected - interval.low, rel=0.02)


@pytest.mark.parametrize(("p", "q"), [((0.6, 0.3, 0.1), 3), ((0.9, 0.08, 0.02), 5), ((0.9, 0.08, 0.02), 12)])
def test_the_second_order_leaves_less_of_the_bias_of_few_wordings(p: tuple[float, ...], q: int) -> None:
    s = [0.0, *(expected_plug_in_entropy(np.array(p), k, len(p)) for k in range(1, q + 1))]
    truth = float(entr(p).sum()) / np.log(len(p))
    first = q * s[q] - (q - 1) * s[q - 1]
    second = (q**2 * s[q] - 2 * (q - 1) ** 2 * s[q - 1] + (q - 2) ** 2 * s[q - 2]) / 2
    assert abs(second - truth) < abs(first - truth) < abs(s[q] - truth)
    rng = np.random.default_rng(q)
    n = 40_000
    answer = np.searchsorted(np.cumsum(p)[:-1], rng.random((n, q)), side="right")
    sample, variant = np.divmod(np.arange(n * q), q)
    drawn = corrected_sensitivity(sample, variant, answer.ravel(), np.ones(n * q), np.full(n, len(p)))
    assert drawn.mean() == pytest.approx(second, abs=4 * drawn.std() / np.sqrt(n))
