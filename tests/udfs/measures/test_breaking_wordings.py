"""Wordings that break, by hand and among sound ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom, t

from udfs.measures.breaking_wordings import BrokenWording, breaking_wordings


def of_table(value: NDArray[np.float64]) -> list[BrokenWording]:
    """Of samples x wordings, NaN a missing cell."""
    sample, wording = np.nonzero(~np.isnan(value))
    return breaking_wordings(sample, wording, value[sample, wording])


def broken(value: NDArray[np.float64]) -> list[int]:
    return [row.variant for row in of_table(value) if row.is_breaking]


def answers(seed: int, *, n: int = 100, q: int = 12, n_broken: int = 0, wordings: float = 0.3) -> NDArray[np.float64]:
    """Right and wrong of a model right in some .75 of cells; the first wordings break .7 of theirs."""
    rng = np.random.default_rng(seed)
    logits = 1.5 + 1.5 * rng.normal(size=(n, 1)) + wordings * rng.normal(size=(1, q)) + 0.7 * rng.normal(size=(n, q))
    value = (rng.random((n, q)) < expit(logits)).astype(np.float64)
    value[:, :n_broken] *= rng.random((n, n_broken)) > 0.7
    return value


def test_a_wording_breaks_beyond_the_t_of_the_others() -> None:
    # accuracies of ten samples: .3, and .8 .9 .8 .9 of the others, mean .85 and s^2 .05^2 * 4 / 3; what chance adds is less
    value = (np.arange(10)[:, None] < np.array([3, 8, 9, 8, 9])).astype(float)
    assert t.ppf(1 - 0.05 / 5, 3) * np.sqrt(0.05**2 * 4 / 3 * 1.25) < 0.55
    first, *others = of_table(value)
    assert first == BrokenWording(0, pytest.approx(0.3), pytest.approx(0.85), is_breaking=True)
    assert [row.of_others for row in others] == pytest.approx([2.6 / 3, 2.5 / 3, 2.6 / 3, 2.5 / 3])
    # one that keeps more than .6 of .85, or of a model that is hardly ever right, does not break
    assert broken((np.arange(10)[:, None] < np.array([6, 8, 9, 8, 9])).astype(float)) == []
    assert broken((np.arange(100)[:, None] < np.array([0, 18, 19, 18, 19])).astype(float)) == []


def test_two_that_break_do_not_hide_each_other() -> None:
    assert broken(answers(1, n_broken=2)) == [0, 1]


def test_missing_cells_and_edges() -> None:
    value = answers(2, n_broken=1)
    value[np.random.default_rng(0).random(value.shape) < 0.2] = np.nan
    assert broken(value) == [0]
    assert broken((np.arange(10)[:, None] < np.array([0, 9, 9])).astype(float)) == []  # of three none is told
    (alone,) = of_table(np.ones((4, 1)))
    assert np.isnan(alone.of_others)
    assert of_table(np.empty((0, 0))) == []


def test_what_breaks_is_found_and_what_is_sound_left_alone() -> None:
    """Of 250 nights of 100 x 12: found in 250, a sound wording named in 0; in .02 where wordings have a deviation of .6."""
    assert sum(broken(answers(seed, n_broken=1)) == [0] for seed in range(60)) >= 59
    assert sum(bool(broken(answers(seed, wordings=0.6))) for seed in range(60)) <= binom.isf(1e-4, 60, 0.03)
