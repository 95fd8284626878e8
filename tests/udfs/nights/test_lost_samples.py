"""Samples that are lost: exact p-values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from promptaudit.udfs.nights.lost_samples import SampleTest, lost_sample, lost_samples
from promptaudit.udfs.nights.window_test import UNTESTED, Nights


def nights(n: int) -> Nights:
    """Nights in a row, tonight last."""
    return Nights(np.arange(n - 1, -1, -1), np.arange(n) < n - 1, np.zeros(n, bool))


def usual(n_nights: int = 9) -> np.ndarray:
    """Shares of right answers of 60 samples."""
    return np.tile(np.linspace(0.7, 1, 60), (n_nights, 1))


def test_four_of_sixty_on_one_night() -> None:
    values = usual()
    values[8, :4] = 0
    found = lost_samples(values, nights(9))
    # each of the four had its one odd night of nine just now
    assert found.p_value == pytest.approx(3 / 9**4)
    assert (found.span, found.carried_by, found.n_samples, found.n_nights) == (1, 4, 60, 8)
    assert found.difference == pytest.approx(-usual()[0, :4].sum() / 60)


def test_samples_that_were_odd_before_and_samples_that_are_gained_count_against_it() -> None:
    values = usual()
    values[8, :4] = 0
    values[2, 10] = values[5, 11] = 0
    assert lost_samples(values, nights(9)).p_value == pytest.approx(3 * binom.sf(3, 6, 1 / 9))
    values = usual()
    values[8, :4] = 0
    values[:8, 20:24], values[8, 20:24] = 0.1, 0.9
    assert lost_samples(values, nights(9)).p_value == 1  # four lost and four gained: 3 * .64


def test_new_samples_are_not_odd_and_do_not_count_before_their_third_ask() -> None:
    values = usual()
    values[8, :4] = 0
    values = np.hstack([values, np.ones((9, 20))])
    values[:7, 60:] = np.nan
    found = lost_samples(values, nights(9))
    assert (found.p_value, found.n_samples) == (pytest.approx(3 / 9**4), 60)


def test_two_nights_in_a_row_say_more_than_one() -> None:
    values = usual()
    values[7:, :2] = 0
    found = lost_samples(values, nights(9))
    # of 7 + 2 nights just these two: 36 ways; tonight alone they had an odd night before
    assert (found.span, found.p_value) == (2, pytest.approx(3 / 36**2))


def test_nothing_lost_and_too_little_known() -> None:
    assert lost_samples(usual(), nights(9)).p_value == 1
    assert lost_samples(usual(3), nights(3)) == pytest.approx(UNTESTED, nan_ok=True)
    assert lost_samples(usual()[:, :9], nights(9)) == pytest.approx(UNTESTED, nan_ok=True)


def test_one_sample_under_twelve_wordings() -> None:
    values = np.ones((8, 12))
    values[7] = 0
    # each of the twelve had its one odd night of eight just now
    assert lost_sample(values) == pytest.approx(SampleTest(8.0**-12, 1, 7, 12))
    values[6] = 0
    assert lost_sample(values) == pytest.approx(SampleTest(28.0**-12, 2, 6, 12))  # C(8, 2) = 28
    values[5, :3] = 0.5  # three waver on a night before: they are none of the lost, and were odd
    found = lost_sample(values)
    assert found[1:] == (2, 6, 9)
    assert found.p_value == pytest.approx(binom.sf(8, 12, 1 / 28))


def test_a_sample_stays_lost_and_no_more_than_two_nights_count() -> None:
    values = np.ones((20, 2))
    values[19:] = 0
    assert lost_sample(values).p_value == pytest.approx(20.0**-2)
    values[12:] = 0
    assert lost_sample(values) == pytest.approx(SampleTest(91.0**-2, 8, 12, 2))  # C(14, 2) = 91


def test_a_sample_that_is_right_tonight_or_was_never_right_is_not_lost() -> None:
    back, never, few = np.ones((6, 4)), np.zeros((6, 4)), np.ones((3, 4))
    back[4] = few[2] = 0
    for values in (back, never, few):
        assert np.isnan(lost_sample(values).p_value)
