"""Tonight against normal nights: the windows by hand, against scipy's paired t test, and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from promptaudit.udfs.nights.window_test import UNTESTED, Nights, mean_difference, spread_factor, window_test

MANY = 10**9  # wordings, so that one flip weighs nothing


def nights(*ages: int, normal: int | None = None) -> Nights:
    """Normal nights and tonight by how long ago they were; of `normal` only so many, the oldest, are normal."""
    is_normal = np.arange(len(ages)) < (len(ages) - 1 if normal is None else normal)
    return Nights(np.array(ages), is_normal, np.zeros_like(is_normal))


def drawn(n_nights: int, n_samples: int, seed: int = 1) -> np.ndarray:
    """Values of nights that differ by chance alone."""
    return np.random.default_rng(seed).normal(0.6, 0.2, (n_nights, n_samples))


def test_one_night_alone_is_a_paired_t_test() -> None:
    values = drawn(3, 40)
    found = window_test(values, nights(2, 1, 0), MANY)
    expected = stats.ttest_1samp(values[2] - values[:2].mean(axis=0), 0)
    interval = expected.confidence_interval(0.95)
    assert found.span == 1
    assert found.p_value_tonight == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.p_value == pytest.approx(min(1, 5 * expected.pvalue), rel=1e-9)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.n_samples, found.n_nights, found.spread_factor) == (40, 2, 1)


def test_twelve_samples_by_hand() -> None:
    # before: all .5; tonight ten at .5 and two at .25: D = -.5/12; squares 2 (.25 - D)^2 + 10 D^2 and (1/4)^2 for the wordings
    values = np.full((2, 12), 0.5)
    values[1, :2] = 0.25
    found = window_test(values, nights(1, 0), 4)
    mean = -0.5 / 12
    squares = 2 * (0.25 + mean) ** 2 + 10 * mean**2 + 1 / 16
    assert found.difference == pytest.approx(mean)
    assert found.standard_error == pytest.approx(np.sqrt(squares / (12 * 11)))


def test_unanimous_samples_have_an_error_of_one_flip() -> None:
    values = np.array([np.ones(20), np.ones(20), np.ones(20), np.ones(20)])
    found = window_test(values, nights(3, 2, 1, 0), 12)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.standard_error == pytest.approx(1 / 12 / np.sqrt(20 * 19))


def test_a_pinned_night_is_held_against_alone_in_every_window() -> None:
    values, every = drawn(6, 40), nights(*range(5, -1, -1))
    found = window_test(values, every._replace(is_pinned=every.age == 5), MANY)
    assert found.n_nights == 1
    assert found.difference == pytest.approx((values[6 - found.span :].mean(axis=0) - values[0]).mean())
    # a night that is pinned is never within the window that is held against it
    assert window_test(values[4:], nights(1, 0)._replace(is_pinned=np.array([True, False])), MANY).span == 1


def test_a_fall_of_several_nights_is_told_by_the_window_that_spans_it() -> None:
    values = drawn(16, 60)
    values[12:] -= 0.04
    found = window_test(values, nights(*range(15, -1, -1)), MANY)
    assert found.span == 4
    assert found.difference == pytest.approx(np.mean(values[12:].mean(axis=0) - values[:12].mean(axis=0)))


def test_no_window_spans_a_night_that_was_left_out() -> None:
    assert nights(6, 5, 4, 3, 2, 1, 0).windows() == [1, 2, 4]
    assert nights(7, 6, 5, 4, 2, 1, 0).windows() == [1, 2]  # the night three ago is not normal
    assert nights(1, 0).windows() == [1]
    assert nights(2, 1, 0).windows() == [1]
    assert nights(0).windows() == []


def test_a_good_night_within_an_alarm_gives_two_nights_and_raises_nothing() -> None:
    known = nights(9, 8, 7, 1, 0, normal=3)
    values = drawn(5, 40)
    values[3:] += 3
    found = window_test(values, known, MANY)
    assert found.span == 1
    assert found.difference_two == pytest.approx(np.mean(values[3:].mean(axis=0) - values[:3].mean(axis=0)))
    assert found.error_two > 0


def test_samples_are_paired_with_their_own_asks() -> None:
    values = drawn(4, 30)
    values[0, :10], values[3, 20:] = np.nan, np.nan
    found = window_test(values, nights(3, 2, 1, 0), MANY)
    kept = slice(0, 20)
    assert found.n_samples == 20
    assert found.difference_tonight == pytest.approx(np.mean(values[3, kept] - np.nanmean(values[:3, kept], axis=0)))


def test_few_shared_samples_are_not_tested() -> None:
    assert window_test(drawn(4, 9), nights(3, 2, 1, 0), 12) == pytest.approx(UNTESTED, nan_ok=True)
    assert window_test(drawn(1, 60), nights(0), 12) == pytest.approx(UNTESTED, nan_ok=True)


def test_samples_of_one_document_are_one() -> None:
    differences = drawn(1, 30)[0]
    alone = mean_difference(differences, MANY)
    twice = mean_difference(np.repeat(differences, 2), MANY, np.repeat(np.arange(30), 2))
    assert alone is not None
    assert twice is not None
    assert (twice.mean, twice.error, twice.degrees_of_freedom) == pytest.approx((alone.mean, alone.error, 29))
    assert mean_difference(differences, MANY, np.arange(30) % 9) is None


def test_nights_that_wander_together_widen_the_test() -> None:
    quiet = [spread_factor(drawn(20, 60, seed)) for seed in range(40)]
    assert np.mean(quiet) < 1.1
    shifted = drawn(20, 60) + np.random.default_rng(2).normal(0, 0.1, (20, 1))
    assert 2 < spread_factor(shifted) < 3.1


def test_a_step_that_nobody_found_is_one_pair() -> None:
    stepped = drawn(20, 60)
    stepped[10:] += 1
    assert spread_factor(stepped) < 1.25


def test_nights_that_repeat_themselves_do_not_wander() -> None:
    assert spread_factor(np.repeat(drawn(1, 60), 10, axis=0)) == 1
    assert spread_factor(drawn(1, 60)) == 1
