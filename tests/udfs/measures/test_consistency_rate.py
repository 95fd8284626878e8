"""The consistency rate against loops over pairs of wordings, and its interval against loops that leave wordings out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import t

from promptaudit.udfs.measures.consistency_rate import ConsistencyRate, consistency_rate

Shares = NDArray[np.float64]


def rate_by_loops(own: Shares) -> float:
    """The mean over ordered pairs of wordings of the chance of the same label; own (Q, C)."""
    return float(np.mean([own[v] @ own[w] for v, w in permutations(range(len(own)), 2)]))


def interval_by_loops(shares: Shares) -> tuple[float, float]:
    n, q, _ = shares.shape
    by_sample = np.array([rate_by_loops(own) for own in shares])
    less_one = np.array([[rate_by_loops(np.delete(own, v, axis=0)) for v in range(q)] for own in shares])
    pseudo = q * by_sample[:, None] - (q - 1) * less_one
    residual = pseudo - pseudo.mean(axis=1, keepdims=True) - pseudo.mean(axis=0) + pseudo.mean()
    samples, variants = by_sample.var(ddof=1) / n, pseudo.mean(axis=0).var(ddof=1) / q
    both = (residual**2).sum() / ((n - 1) * (q - 1)) / (n * q)
    half = t.ppf(0.975, q - 1) * np.sqrt(max(samples + variants - both, samples, variants))
    rate = by_sample.mean()
    if not 0 < rate < 1:
        return rate, rate
    half /= rate * (1 - rate)
    return float(expit(logit(rate) - half)), float(expit(logit(rate) + half))


def rate_of(shares: Shares) -> ConsistencyRate:
    sample, variant, label = np.nonzero(shares)
    return consistency_rate(sample, variant, variant, label, shares[sample, variant, label])


def random_shares(seed: int, n: int, q: int, repetitions: int) -> Shares:
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.ones(3), n)
    return np.array([[rng.multinomial(repetitions, p) for _ in range(q)] for p in own]) / repetitions


def test_two_samples_by_hand() -> None:
    # labels a a b: of three pairs one agrees, 1/3; a a a: all agree, 1; mean 2/3
    shares = np.eye(2)[[[0, 0, 1], [0, 0, 0]]]
    assert rate_of(shares).rate == pytest.approx(2 / 3)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2], [0, 0, 1]])
def test_samples_that_are_all_alike_are_no_certainty(labels: list[int]) -> None:
    rate, low, high = rate_of(np.eye(3)[[labels] * 20])
    assert low < rate or rate == 0
    assert rate < high or rate == 1


def test_repeated_answers_count_by_their_shares() -> None:
    # one wording says a half of the time, the other always: an answer of each agrees half of the time
    assert rate_of(np.array([[[0.5, 0.5], [1.0, 0.0]]])).rate == pytest.approx(0.5)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(3, 5), st.integers(1, 3))
def test_loops_over_pairs_and_over_left_out_wordings_give_the_same(seed: int, n: int, q: int, repetitions: int) -> None:
    shares = random_shares(seed, n, q, repetitions)
    own = rate_of(shares)
    low, high = interval_by_loops(shares)
    split = np.eye(3)[np.arange(q) % 2][None]
    assert own.rate == pytest.approx(np.mean([rate_by_loops(each) for each in shares]), abs=1e-12)
    unanimous = np.eye(3)[np.zeros(q, int)][None]
    highest = max(high, interval_by_loops(np.concatenate([shares, unanimous]))[1])
    assert own.high == pytest.approx(min(1.0, highest), abs=1e-9)
    assert own.low == pytest.approx(max(0.0, min(low, interval_by_loops(np.concatenate([shares, split]))[0])), abs=1e-9)
    assert 0 <= own.low <= own.rate + 1e-12
    assert own.rate <= own.high + 1e-12


def test_agreement_without_exception_is_not_certain() -> None:
    own = rate_of(np.eye(2)[np.zeros((40, 12), int)])
    assert own.rate == own.high == 1
    # one added sample, six wordings against six: 5/11; 2.201 times its effect on the mean of 41
    p = 1 - 6 / 11 / 41
    assert own.low == pytest.approx(expit(logit(p) - 2.200985 * (1 - p) / (p * (1 - p))), abs=1e-5)


def test_samples_of_fewer_wordings_count_with_those_they_have() -> None:
    shares = random_shares(1, 4, 5, 1)
    shares[0, 2:] = 0
    expected = np.mean([rate_by_loops(own[own.sum(axis=1) > 0]) for own in shares])
    own = rate_of(shares)
    assert own.rate == pytest.approx(expected, abs=1e-12)
    assert own.low < own.rate < own.high


def test_what_cannot_be_measured_is_undefined() -> None:
    assert np.isnan(rate_of(np.zeros((0, 3, 2)))).all()
    assert np.isnan(rate_of(np.eye(2)[np.zeros((5, 1), int)])).all()
    for n, q in ((5, 2), (1, 5)):
        own = rate_of(random_shares(3, n, q, 1))
        assert 0 <= own.rate <= 1
        assert np.isnan([own.low, own.high]).all()
