"""Tonight against normal nights: the windows by hand, against scipy's paired t test, and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from promptaudit.udfs.differences.alike_nights import NO_SPREAD, NightSpread
from promptaudit.udfs.nights.window_test import UNTESTED, Nights, spread_of, window_test

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


def test_windows_span_nights_that_are_not_normal() -> None:
    known = nights(9, 8, 7, 1, 0, normal=3)
    values = drawn(5, 40)
    values[3:] += 3
    found = window_test(values, known, MANY)
    assert (found.span, found.n_nights) == (2, 3)
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
    values, every = drawn(6, 30), nights(*range(5, -1, -1))
    alone = window_test(values, every, MANY, is_rate=False)
    documents = np.repeat(np.arange(30), 2)
    assert window_test(np.repeat(values, 2, axis=1), every, MANY, documents, is_rate=False) == pytest.approx(
        alone._replace(n_samples=60)
    )
    assert window_test(values, every, MANY, np.arange(30) % 9) == pytest.approx(UNTESTED, nan_ok=True)


def test_a_steady_model_that_loses_nine_of_sixty_is_told_on_the_fourth_night() -> None:
    # nine carry it, each with one odd night of four: 4^-9, times five windows; their spread over samples would say p = .002
    values = np.ones((4, 60))
    values[3, :9] = 0
    found = window_test(values, nights(3, 2, 1, 0), 12)
    assert (found.difference, found.carried_by, found.span) == (pytest.approx(-0.15), pytest.approx(9), 1)
    assert found.p_value == pytest.approx(5 / 4**9)
    by_spread = window_test(values, nights(3, 2, 1, 0), 12, is_rate=False)
    assert by_spread.p_value_tonight == pytest.approx(stats.ttest_1samp(values[3] - 1, 0).pvalue, rel=0.01)


def test_samples_of_a_panel_that_went_round_once_are_held_to_their_own_spread() -> None:
    # four normal nights, of which one asked tonight's samples: no two nights say by how much these differ
    values = drawn(5, 40)
    values[1:4] = np.nan
    found = window_test(values, nights(*range(4, -1, -1)), MANY)
    assert found.standard_error == pytest.approx(np.std(values[4] - values[0], ddof=1) / np.sqrt(40))
    assert found.p_value_tonight == pytest.approx(stats.ttest_1samp(values[4] - values[0], 0).pvalue)


def test_one_sample_alone_is_not_told_on_its_first_night() -> None:
    values = np.ones((9, 40))
    values[8, 0] = 0
    # one of nine nights was odd, and it was this one
    assert window_test(values, nights(*range(8, -1, -1)), 12).p_value_tonight == pytest.approx(1 / 9)


def test_one_odd_night_is_told_as_one() -> None:
    values = np.ones((11, 60))
    values[10, :4] = 0
    found = window_test(values, nights(*range(10, -1, -1)), 12)
    # of the last two nights one is odd, in (10 + 2) / 2 ways: no more than the 11 of tonight alone
    assert (found.span, found.difference) == (1, pytest.approx(-4 / 60))
    assert found.p_value == pytest.approx(5 / 11**4)
    values[9, :4] = 0
    found = window_test(values, nights(*range(10, -1, -1)), 12)
    assert (found.span, found.p_value) == (2, pytest.approx(5 / 55**4))


def test_a_night_that_is_noisier_than_normal_ones_widens_its_own_error() -> None:
    values = np.full((4, 60), 0.5)
    values[3, :8], values[3, 8:14] = 0, 1
    # eight fell by .5 and six rose by as much: 2 * 6 * .25 against them
    found = window_test(values, nights(3, 2, 1, 0), MANY)
    assert found.standard_error == pytest.approx(np.sqrt(2 * 6 * 0.25) / 60)
    assert found.p_value == 1


def factor(values: np.ndarray, shared: NightSpread = NO_SPREAD) -> float:
    every = nights(*range(len(values) - 1, -1, -1), normal=len(values))
    return float(np.sqrt(spread_of(values, every).factor(shared)))


def test_nights_that_wander_together_widen_the_test() -> None:
    quiet = [factor(drawn(20, 60, seed)) for seed in range(40)]
    assert np.mean(quiet) < 1.1
    shifted = drawn(20, 60) + np.random.default_rng(2).normal(0, 0.1, (20, 1))
    assert 2 < factor(shifted) < 3.1


def test_what_other_groups_wander_by_is_where_a_group_starts() -> None:
    # of 21 pairs q is 42: (6 + 28) / (6 + 14) = 1.7, and a group without nights of its own has that
    assert NO_SPREAD.factor(NightSpread(42, 21)) == pytest.approx(1.7)
    # of its own 7 pairs q is 7: (6 * 1.7 + 14 / 3) / (6 + 14 / 3)
    assert NightSpread(7, 7).factor(NightSpread(42, 21)) == pytest.approx((10.2 + 14 / 3) / (6 + 14 / 3))
    assert NightSpread(0, 7).factor(NO_SPREAD) == 1


def test_a_step_that_nobody_found_is_one_pair() -> None:
    stepped = drawn(20, 60)
    stepped[10:] += 1
    assert factor(stepped) < 1.25


def test_nights_that_repeat_themselves_do_not_wander() -> None:
    assert factor(np.repeat(drawn(1, 60), 10, axis=0)) == 1
    assert factor(drawn(1, 60)) == 1
