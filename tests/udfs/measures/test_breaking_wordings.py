"""Wordings that break, by hand and among sound ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, t

from promptaudit.udfs.measures.breaking_wordings import BrokenWording
from tests.udfs.breaking_worlds import broken, of_table, right_and_wrong


def test_a_wording_breaks_beyond_the_t_of_the_others() -> None:
    # of 100 samples 30 are right, and 80 90 80 90 under the others: half their distance on the logit is .393, so that s^2 is
    # .393^2 * 4 / 3; what chance adds is less. ln(30.5 / 70.5) lies 2.60 below their mean
    value = (np.arange(100)[:, None] < np.array([30, 80, 90, 80, 90])).astype(float)
    low, high = np.log(80.5 / 20.5), np.log(90.5 / 10.5)
    by_chance = t.ppf(1 - 0.05 / 5, 3) * np.sqrt(((high - low) / 2) ** 2 * 4 / 3 * 1.25)
    assert by_chance == pytest.approx(2.30, abs=0.01)
    assert by_chance < (low + high) / 2 - np.log(30.5 / 70.5)
    first, *others = of_table(value)
    assert first == BrokenWording(0, pytest.approx(0.3), pytest.approx(0.85), is_breaking=True)
    assert [row.of_others for row in others] == pytest.approx([2.6 / 3, 2.5 / 3, 2.6 / 3, 2.5 / 3])
    # a little better, and no longer that far on the logit; and where a model is hardly ever right
    assert broken((np.arange(100)[:, None] < np.array([40, 80, 90, 80, 90])).astype(float)) == []
    assert broken((np.arange(100)[:, None] < np.array([0, 18, 19, 18, 19])).astype(float)) == []


def test_two_that_break_do_not_hide_each_other() -> None:
    assert broken(right_and_wrong(1, n_broken=2)) == [0, 1]


def test_missing_cells_and_edges() -> None:
    value = right_and_wrong(2, n_broken=1)
    value[np.random.default_rng(0).random(value.shape) < 0.2] = np.nan
    assert broken(value) == [0]
    assert broken((np.arange(10)[:, None] < np.array([0, 9, 9])).astype(float)) == []  # of three none is told
    (alone,) = of_table(np.ones((4, 1)))
    assert np.isnan(alone.of_others)
    assert of_table(np.empty((0, 0))) == []


def test_what_breaks_is_found_and_what_is_sound_left_alone() -> None:
    """Of 250 nights of 100 x 12: found in 250, a sound wording named in .02 where wordings have a deviation of .6."""
    assert sum(broken(right_and_wrong(seed, n_broken=1)) == [0] for seed in range(60)) >= 59
    assert sum(bool(broken(right_and_wrong(seed, wordings=0.6))) for seed in range(60)) <= binom.isf(1e-4, 60, 0.03)
