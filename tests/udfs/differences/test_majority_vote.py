"""The majority vote by hand, beside a slow one, and where nothing can be voted on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptaudit.udfs.differences.majority_vote import MajorityVote, majority_vote

Answers = list[
    list[int]
]  # a label of each sample and wording, -1 where it cannot be read; the first wording is the original


def voted(answers: Answers, gold: list[int], clusters: list[int] | None = None) -> MajorityVote:
    labels = np.array(answers)
    sample, variant = np.indices(labels.shape).reshape(2, -1)
    cluster = np.array(clusters or range(len(answers)))[sample]
    is_right = labels.ravel() == np.array(gold)[sample]
    return majority_vote(sample, cluster, variant, labels.ravel(), is_right, variant == 0)


def test_by_hand() -> None:
    # right, wrong, a tie of the right one and another, only one vote, and none that could be read
    answers = [[0, 0, 1], [1, 1, 0], [0, 1, -1], [-1, 0, -1], [-1, -1, -1]]
    found = voted(answers, [0] * 5)
    assert found.accuracy == pytest.approx((1 + 0 + 0.5 + 1 + 0) / 5)
    # the original is right on the first and third
    assert found.gain == pytest.approx(2.5 / 5 - 2 / 5)
    assert (found.n_samples, found.n_wordings) == (5, 3)


def test_an_original_that_stands_at_several_temperatures_is_one() -> None:
    labels = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0]])  # the first two are the original
    sample, variant = np.indices(labels.shape).reshape(2, -1)
    found = majority_vote(sample, sample, variant, labels.ravel(), labels.ravel() == 0, variant < 2)
    # the votes are right, wrong and wrong; the original is right on 1, 1/2 and 0
    assert found.gain == pytest.approx(1 / 3 - 1.5 / 3)


def test_two_wordings_and_no_original_are_no_vote() -> None:
    for answers, is_original in ([[0, 0]], [1, 0]), ([[0, 0, 0]], [0, 0, 0]):
        labels = np.array(answers).ravel()
        zeros = np.zeros(len(labels), int)
        found = majority_vote(zeros, zeros, np.arange(len(labels)), labels, labels == 0, np.array(is_original))
        assert np.isnan(found[:6]).all()
        assert found.n_samples == 0
    nothing = np.zeros(0, int)
    assert majority_vote(nothing, nothing, nothing, nothing, nothing, nothing).n_wordings == 0


def test_samples_of_one_cluster_are_one_unit() -> None:
    answers = [[k % 2, 0, 0] for k in range(60)]
    apart, together = voted(answers, [0] * 60), voted(answers, [0] * 60, [k // 2 * 2 for k in range(60)])
    assert apart.gain == together.gain == 0.5
    # every cluster gains the same: nothing but the floor is left of the variance
    assert together.gain_high - together.gain_low < apart.gain_high - apart.gain_low


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(3, 7), st.integers(2, 4))
@settings(max_examples=50)
def test_equals_a_slow_count(seed: int, n_samples: int, n_wordings: int, n_labels: int) -> None:
    rng = np.random.default_rng(seed)
    answers = rng.integers(-1, n_labels, (n_samples, n_wordings)).tolist()
    gold = rng.integers(0, n_labels, n_samples).tolist()
    right = []
    for own, wanted in zip(answers, gold, strict=True):
        counts = [own.count(label) for label in range(n_labels)]
        winners = [label for label, count in enumerate(counts) if count == max(counts) > 0]
        right.append((wanted in winners) / len(winners) if winners else 0.0)
    found = voted(answers, gold)
    assert found.accuracy == pytest.approx(np.mean(right))
    of_original = np.mean([own[0] == wanted for own, wanted in zip(answers, gold, strict=True)])
    assert found.gain == pytest.approx(np.mean(right) - of_original)
    assert -1 <= found.gain <= 1
    assert not found.gain_low > found.gain
    assert not found.gain_high < found.gain
