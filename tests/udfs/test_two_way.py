"""Means over samples and wordings with their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, t

from promptaudit.udfs.two_way import two_way_interval, two_way_variance
from tests.udfs.designs.worlds import World
from tests.udfs.rate_worlds import RATE_WORLDS, bounded_rate

# questions x templates; accuracies .75, .75 and .25
QUESTIONS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], float)
WORLDS = {
    "wordings matter little": World(samples=0.2, wordings=0.03, cells=0.1),
    "wordings matter": World(samples=0.2, wordings=0.06, cells=0.1),
    "answers repeat": World(mean=0.55, samples=0.26, wordings=0.06, cells=0.05),
}


def test_variance_of_questions_and_templates_by_hand() -> None:
    # Var_ddof1 of .75, .75, .25 is .083333; the residual mean square is .222222
    question, template = np.indices(QUESTIONS.shape).reshape(2, -1)
    variance = two_way_variance(question, template, QUESTIONS.ravel())
    assert variance.variants == pytest.approx(0.083333 / 3, abs=1e-6)
    assert variance.both == pytest.approx(0.222222 / 12, abs=1e-6)


def test_interval_by_hand() -> None:
    question, template = np.indices(QUESTIONS.shape).reshape(2, -1)
    got = two_way_interval(question, template, QUESTIONS.ravel())
    samples = np.var([2 / 3, 1 / 3, 1, 1 / 3], ddof=1) / 4
    p = 1.75 / 3
    variance = samples + 0.25 / 9 - 1 / 54
    free = variance**2 / (samples**2 / 3 + (0.25 / 9) ** 2 / 2)
    half = t.ppf(0.975, free) * np.sqrt(variance) / (p * (1 - p))
    assert got.mean == pytest.approx(p)
    assert got.std == pytest.approx(np.std([0.75, 0.75, 0.25]))
    # a fifth question, half of whose answers are right, makes this interval narrower: it stays as it is
    assert (got.low, got.high) == pytest.approx((expit(logit(p) - half), expit(logit(p) + half)))


def test_one_template_leaves_the_questions() -> None:
    value = np.array([1.0, 0, 1, 1])
    got = two_way_interval(np.arange(4), np.zeros(4, np.int64), value)
    half = t.ppf(0.975, 3) * np.std(value, ddof=1) / 2 / (0.75 * 0.25)
    assert got.low == pytest.approx(expit(logit(0.75) - half))


@pytest.mark.parametrize("n", [20, 100, 500])
def test_nothing_wrong_is_bounded_as_exactly_as_need_be(n: int) -> None:
    """One added question that is half right does what Clopper and Pearson do, (alpha / 2)^(1 / n) for n of n."""
    question, template = np.indices((n, 3)).reshape(2, -1)
    right = two_way_interval(question, template, np.ones(3 * n))
    wrong = two_way_interval(question, template, np.zeros(3 * n))
    assert right.low == pytest.approx(0.025 ** (1 / n), abs=0.003)
    assert (right.mean, right.high) == (1, 1)
    assert wrong == pytest.approx((0, 0, 0, 1 - right.low))


def test_bounds_of_few_stay_inside_and_hold_those_of_an_added_question() -> None:
    question, template = np.indices((40, 8)).reshape(2, -1)
    value = np.zeros(320)
    value[5] = 1
    got = two_way_interval(question, template, value)
    added = two_way_interval(
        np.append(question, np.full(8, 40)), np.append(template, np.arange(8)), np.append(value, np.full(8, 0.5))
    )
    assert 0 < got.low < got.mean < got.high <= added.high < 1
    # of one question that has all there is the standard error is the rate, and e^2 times the rate .023: too low an end
    assert got.high > 3 * 0.023


@pytest.mark.slow
def test_the_upper_bound_of_a_rate_of_few_lies_over_the_truth() -> None:
    """Of 2,000 such nights it lies under the truth in none; mean + t standard errors does in .20 of them."""
    nights = [bounded_rate(seed, world=RATE_WORLDS["heavy"], n=100, q=12, rate=0.01) for seed in range(120)]
    assert sum(night.high < 0.01 for night in nights) <= binom.isf(1e-4, 120, 0.025)
    assert sum(night.low > 0.01 for night in nights) <= binom.isf(1e-4, 120, 0.04)
    assert min(night.low for night in nights) >= 0


def test_a_template_missing_where_questions_are_easy_is_not_taken_for_bad() -> None:
    # value = question + template exactly, so nothing is left over wherever cells are missing
    question, template = np.indices((6, 4)).reshape(2, -1)
    value = question / 10 + template / 20
    kept = np.random.default_rng(0).random(24) < 0.8
    full, part = (
        two_way_variance(question, template, value),
        two_way_variance(question[kept], template[kept], value[kept]),
    )
    assert part.variants == pytest.approx(full.variants)
    assert part.both == pytest.approx(0, abs=1e-12)


def test_undefined_without_values_or_with_one_sample() -> None:
    empty = np.empty(0, np.int64)
    assert np.isnan(two_way_interval(empty, empty, np.empty(0))).all()
    one = two_way_interval(np.zeros(2, np.int64), np.arange(2), np.array([0.0, 1.0]))
    assert one.mean == 0.5
    assert np.isnan([one.low, one.high]).all()
