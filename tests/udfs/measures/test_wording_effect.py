"""One sample's sensitivity and whether repetition alone explains it, by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from promptaudit.udfs.measures.sensitivity import corrected_sensitivity
from promptaudit.udfs.measures.wording_effect import discoveries, sample_sensitivity, wording_effect


def test_disagreements_by_hand() -> None:
    # wordings (a, a), (b, b), (a, b): repetitions disagree in one of three; pairs of wordings: 1, 1/2, 1/2
    found = wording_effect(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 0, 1]), seed=1)
    assert found.repeat == pytest.approx(1 / 3)
    assert found.variant == pytest.approx(2 / 3)
    assert found.share == pytest.approx(1 / 2)
    # of the 20 ways to lay out three a and three b, 12 leave two wordings in agreement and 8 none: 12/20
    assert found.p_value == pytest.approx(0.6, abs=0.04)


def test_the_order_of_answers_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    variant, label = np.repeat(np.arange(12), 2), rng.integers(0, 3, 24)
    order = rng.permutation(24)
    first, second = (wording_effect(variant[at], label[at], seed=5) for at in (np.arange(24), order))
    assert first[:3] == pytest.approx(second[:3])
    assert first.p_value == pytest.approx(second.p_value, abs=0.06)


def test_asked_once_nothing_is_known_of_noise() -> None:
    found = wording_effect(np.arange(6), np.array([0, 1, 0, 1, 0, 1]), seed=1)
    assert found.variant == pytest.approx(0.6)
    assert all(math.isnan(value) for value in (found.repeat, found.share, found.p_value))


def test_unanimous_answers_have_no_effect() -> None:
    found = wording_effect(np.repeat(np.arange(5), 2), np.zeros(10, np.int64), seed=1)
    assert (found.repeat, found.variant, found.p_value) == (0, 0, 1)


def test_noise_alone_is_found_in_one_of_twenty_and_wording_always() -> None:
    rng = np.random.default_rng(11)
    variant = np.append(np.zeros(8, np.int64), np.repeat(np.arange(12), 2))  # the original is asked ten times
    noise = [
        wording_effect(variant, rng.choice(3, len(variant), p=[0.5, 0.3, 0.2]), seed=1, n_permutations=199)
        for _ in range(400)
    ]
    assert 0.02 <= np.mean([found.p_value <= 0.05 for found in noise]) <= 0.08
    wording = [wording_effect(variant, rng.integers(0, 3, 12)[variant], seed=1, n_permutations=199) for _ in range(50)]
    assert np.mean([found.p_value <= 0.05 for found in wording]) > 0.95


def test_corrected_is_the_marts_figure() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), 9)
    variant, label = np.nonzero(p)
    same = corrected_sensitivity(np.zeros(len(variant), np.int64), variant, label, p[variant, label], np.array([4]))
    assert sample_sensitivity(p).corrected == pytest.approx(same[0], abs=1e-12)


def test_labels_given_equally_often_get_an_interval() -> None:
    # the jackknife alone sees no spread at the top of the entropy
    found = sample_sensitivity(np.eye(3)[np.arange(12) % 3])
    assert found.low < found.corrected - 0.02


@pytest.mark.parametrize(
    ("p", "q", "least"),
    [([0.34, 0.33, 0.33, 0], 12, 0.93), ([0.7, 0.2, 0.1, 0], 12, 0.9), ([0.5, 0.5, 0, 0], 30, 0.93)],
)
def test_coverage_of_unsteady_samples(p: list[float], q: int, least: float) -> None:
    truth = -sum(x * math.log(x) for x in p if x) / math.log(4)
    rng = np.random.default_rng(7)
    drawn = [sample_sensitivity(np.eye(4)[rng.choice(4, q, p=p)]) for _ in range(300)]
    assert np.mean([each.low - 1e-9 <= truth <= each.high + 1e-9 for each in drawn]) >= least


def test_few_wordings() -> None:
    assert math.isnan(sample_sensitivity(np.eye(3)[:1]).corrected)
    assert math.isnan(sample_sensitivity(np.eye(3)[:2]).low)


def test_discoveries_by_hand() -> None:
    # .05 k/4: .0125, .025, .0375, .05; the third is the last below its line
    p_values = np.array([0.03, np.nan, 0.001, 0.9, 0.02])
    assert discoveries(p_values).tolist() == [True, False, True, False, True]
    assert not discoveries(np.array([])).any()
