"""Sensitivity, plain and corrected, and its two-way jackknife against loops that leave out wordings one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import t

from promptaudit.udfs.codes import dense_codes
from promptaudit.udfs.measures.sensitivity import SensitivityInterval, corrected_sensitivity, sensitivity_interval

Shares = NDArray[np.float64]


def entropy(shares: Shares, n_classes: int) -> float:
    p = shares.mean(axis=0)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum() / np.log(n_classes))


def pseudo(shares: Shares, n_classes: int) -> Shares:
    """Q S - (Q - 1) S^(-v) of one sample; shares (Q, C)."""
    q = len(shares)
    less = np.array([entropy(np.delete(shares, v, axis=0), n_classes) for v in range(q)])
    return q * entropy(shares, n_classes) - (q - 1) * less


def interval_by_loops(shares: Shares, n_classes: int) -> tuple[float, float, float]:
    """The bounds hold those of the data and with one more sample, split between two labels."""
    by_sample = np.array([entropy(own, n_classes) for own in shares])
    table = np.array([pseudo(own, n_classes) for own in shares])
    split = min(np.log(2) / np.log(n_classes), 0.5)
    plain = bounds(by_sample, table)
    more = bounds(np.append(by_sample, split), np.append(table, np.full((1, table.shape[1]), split), axis=0))
    return float(by_sample.mean()), min(plain[0], more[0]), max(plain[1], more[1])


def bounds(by_sample: Shares, table: Shares) -> tuple[float, float]:
    (n, q), s = table.shape, by_sample.mean()
    residual = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    samples, variants = by_sample.var(ddof=1) / n, table.mean(axis=0).var(ddof=1) / q
    both = (residual**2).sum() / ((n - 1) * (q - 1)) / (n * q)
    v = max(samples + variants - both, samples, variants)
    free = max(min(n, q) - 1, v**2 / (samples**2 / (n - 1) + variants**2 / (q - 1)))
    half = t.ppf(0.975, free) * np.sqrt(v) / (s * (1 - s))
    return float(expit(logit(s) - half)), float(expit(logit(s) + half))


def interval_of(shares: Shares, n_classes: int, family: NDArray[np.int64] | None = None) -> SensitivityInterval:
    sample, variant, label = np.nonzero(shares)
    of_entry = None if family is None else family[variant]
    return sensitivity_interval(sample, variant, of_entry, label, shares[sample, variant, label], n_classes)


def random_shares(seed: int, n: int, q: int, repetitions: int = 1, n_labels: int = 4) -> Shares:
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(n_labels), n)
    answers = np.array([[rng.multinomial(repetitions, p) for _ in range(q)] for p in own])
    return answers / repetitions


def alike(*counts: int, n: int = 40) -> Shares:
    """So many wordings say each label, and to all samples alike."""
    return np.repeat(np.repeat(np.eye(len(counts)), counts, axis=0)[None], n, axis=0)


def test_thirty_wordings_in_counts() -> None:
    # -(.8 ln .8 + .1 ln .1 + .1 ln .1) / ln 3; leaving out an A gives (23, 3, 3)/29, 24 times of 30, else (24, 2, 3)/29
    def s(*counts: int) -> float:
        p = np.array(counts) / sum(counts)
        return float(-(p * np.log(p)).sum() / np.log(3))

    found = interval_of(alike(24, 3, 3), 3)
    assert found.mean == pytest.approx(s(24, 3, 3)) == pytest.approx(0.581672, abs=1e-6)
    assert found.corrected == pytest.approx(30 * s(24, 3, 3) - 29 * (0.8 * s(23, 3, 3) + 0.2 * s(24, 2, 3)))


def test_six_of_ten_wordings_say_one_label_and_four_none() -> None:
    # -(.6 ln .6 + .4 ln .4) / ln 3 = .6126; without one of the six 5:4 of 9 (.6253), of the four 6:3 (.5794):
    # 10 * .612602 - 9 (.6 * .625331 + .4 * .579380) = .663631
    found = interval_of(alike(6, 0, 4), 3)
    assert found.mean == pytest.approx(0.612602, abs=1e-6)
    assert found.corrected == pytest.approx(0.663631, abs=1e-6)
    assert 0 < found.low < found.mean < found.high < 1
    assert found.corrected_low < found.corrected < found.corrected_high < 1


def test_one_of_ten_wordings_breaks() -> None:
    # -(.9 ln .9 + .1 ln .1) / ln 3
    found = interval_of(alike(9, 0, 1), 3)
    assert found.mean == pytest.approx(0.295903, abs=1e-6)
    assert 0.01 < found.low < found.mean < found.corrected < found.high < 0.95


def test_unanimous_samples_leave_doubt() -> None:
    found = interval_of(alike(12, 0, 0), 3)
    assert (found.mean, found.low, found.corrected, found.corrected_low) == (0, 0, 0, 0)
    # of one in 41 samples that is half of the way, .5/41 +- .5/41 on the logit with 40 degrees of freedom
    s = 0.5 / 41
    assert found.high == pytest.approx(expit(logit(s) + t.ppf(0.975, 40) / (1 - s)))


def test_wordings_that_say_each_label_equally_often_leave_doubt() -> None:
    found = interval_of(alike(4, 4, 4), 3)
    assert (found.mean, found.high, found.corrected, found.corrected_high) == (1, 1, 1, 1)
    assert 0.8 < found.low == found.corrected_low < 1


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(3, 6), st.integers(1, 3))
@settings(max_examples=30)
def test_equals_leaving_out_wordings_one_by_one(seed: int, n: int, q: int, repetitions: int) -> None:
    shares = random_shares(seed, n, q, repetitions)
    if np.mean([entropy(own, 5) for own in shares]) > 0:
        assert interval_of(shares, 5)[:3] == pytest.approx(interval_by_loops(shares, 5), abs=1e-9)


def test_corrected_is_the_mean_of_the_pseudo_values() -> None:
    shares = random_shares(2, 30, 9, 2)
    assert interval_of(shares, 5).corrected == pytest.approx(np.mean([pseudo(own, 5) for own in shares]))
    sample, variant, label = np.nonzero(shares)
    found = corrected_sensitivity(sample, variant, label, shares[sample, variant, label], np.full(30, 5))
    assert found == pytest.approx([min(1, pseudo(own, 5).mean()) for own in shares])


@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_names_and_order_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = random_shares(seed, 6, 8, 2)
    shuffled = shares[rng.permutation(6)][:, rng.permutation(8)][:, :, rng.permutation(4)]
    assert interval_of(shuffled, 5) == pytest.approx(interval_of(shares, 5), abs=1e-9)


def test_duplicated_wordings_change_the_corrected_figure_alone() -> None:
    shares = random_shares(1, 5, 8)
    once, twice = interval_of(shares, 5), interval_of(np.repeat(shares, 2, axis=1), 5)
    assert twice.mean == pytest.approx(once.mean)
    assert twice.corrected < once.corrected - 1e-3


def test_families_widen_intervals_and_move_no_figure() -> None:
    shares = np.repeat(random_shares(1, 40, 4), 3, axis=1)
    family = np.repeat(np.arange(4), 3)
    alone, joined = interval_of(shares, 5), interval_of(shares, 5, family)
    assert (joined.mean, joined.corrected) == (alone.mean, alone.corrected)
    assert joined.low < alone.low < alone.high < joined.high
    assert joined.corrected_low < alone.corrected_low < alone.corrected_high < joined.corrected_high
    assert interval_of(shares, 5, np.arange(12)[::-1]) == alone
    for few in (family // 2, family * 0):
        assert np.isnan(interval_of(shares, 5, few)).tolist() == [False, True, True, False, True, True]


def test_a_missing_cell_is_left_out() -> None:
    shares = random_shares(3, 8, 9)
    sample, variant, label = np.nonzero(shares)
    kept = (sample != 2) | (variant != 4)
    p = shares[sample, variant, label]
    got = sensitivity_interval(sample[kept], variant[kept], None, label[kept], p[kept], 5)
    tables = [np.delete(own, 4, axis=0) if i == 2 else own for i, own in enumerate(shares)]
    assert got.mean == pytest.approx(np.mean([entropy(own, 5) for own in tables]))
    assert got.corrected == pytest.approx(np.mean([pseudo(own, 5).mean() for own in tables]))
    assert got.high - got.low == pytest.approx(interval_of(shares, 5).high - interval_of(shares, 5).low, rel=0.5)


def test_undefined_figures() -> None:
    undefined = {"one wording": interval_of(random_shares(0, 3, 1), 5), "one class": interval_of(alike(8), 1)}
    assert all(np.isnan(found).all() for found in undefined.values())
    assert np.isnan(interval_of(random_shares(0, 3, 2), 5)).tolist() == [False, *[True] * 5]
    assert np.isnan(interval_of(random_shares(0, 3, 7), 5)).tolist() == [*[False] * 3, *[True] * 3]
    assert np.isnan(interval_of(random_shares(0, 1, 8), 5)).tolist() == [False, True, True, False, True, True]
    empty = np.empty(0, np.int64)
    assert np.isnan(sensitivity_interval(empty, empty, None, empty, np.empty(0), 3)).all()
    assert np.isnan(corrected_sensitivity(empty, empty, empty, np.empty(0), np.array([3, 3]))).all()
    one_wording = np.append(np.zeros(8, np.int64), 2), np.append(np.arange(8), 0)
    found = corrected_sensitivity(*one_wording, np.zeros(9, np.int64), np.ones(9), np.array([3, 3, 3]))
    assert np.isnan(found).tolist() == [False, True, True]


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_range_and_order_hold_of_any_table(data: st.DataObject) -> None:
    """With gaps, ties, one sample, few wordings and labels, families, and everything N/A."""
    n, q, c = (data.draw(st.integers(1, most)) for most in (6, 14, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    answer = rng.integers(0, c, (n, q)) if data.draw(st.booleans()) else np.repeat(rng.integers(0, c, (1, q)), n, 0)
    if data.draw(st.booleans()):
        answer[:, rng.random(q) < 0.8] = c - 1
    sample, variant = np.nonzero(rng.random((n, q)) < data.draw(st.sampled_from([1.0, 0.9, 0.5])))
    label = answer[sample, variant]
    codes = [dense_codes(each)[0] for each in (sample, variant, rng.integers(0, 4, q)[variant], label)]
    if data.draw(st.booleans()):
        codes[2] = codes[1]
    found = sensitivity_interval(*codes, np.ones(len(label)), max(2, c))
    assert np.isnan(found.mean) or 0 <= found.mean <= 1
    assert np.isnan(found.low) == np.isnan(found.high)
    assert np.isnan(found.low) or 0 <= found.low <= found.mean <= found.high <= 1
    assert np.isnan(found.corrected) or found.mean <= found.corrected <= 1
    assert np.isnan(found.corrected_low) == np.isnan(found.corrected_high)
    assert np.isnan(found.corrected_low) or 0 <= found.corrected_low <= found.corrected <= found.corrected_high <= 1


def test_the_interval_covers() -> None:
    """One world, 60 audits of 150 samples x 12 wordings: both true figures lie inside in about 95 % of them."""
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
    nights = []
    for _ in range(60):
        answer = (rng.random((n, q, 1)) > probabilities(n, q).cumsum(axis=2)).sum(axis=2)
        nights.append(interval_of(np.eye(n_labels)[np.minimum(answer, n_labels - 1)], n_labels))
    expected = np.mean([night.mean for night in nights])
    assert sum(night.low <= expected <= night.high for night in nights) >= 54
    assert sum(night.corrected_low <= truth <= night.corrected_high for night in nights) >= 52


@pytest.mark.parametrize("n_variants", [8, 12, 30])
def test_nearly_unanimous_samples_leave_doubt(n_variants: int) -> None:
    """Of 40 samples 1 in 60 has a wording effect: mostly all 40 are unanimous, and the bounds say no more than they know."""
    rng = np.random.default_rng(n_variants)
    n_labels, n, rare = 4, 40, 1 / 60
    truth = rare * np.log(2) / np.log(n_labels)
    n_covering = 0
    for _ in range(60):
        answer = np.where(rng.random((n, 1)) < rare, rng.integers(0, 2, (n, n_variants)), 0)
        interval = interval_of(np.eye(n_labels)[answer], n_labels)
        n_covering += interval.corrected_low <= truth <= interval.corrected_high
    assert n_covering >= 57
