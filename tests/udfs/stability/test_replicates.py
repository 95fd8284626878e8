"""Which repetitions prompt stability is the mean of, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.stability.replicates import counted_replicates, is_large_enough, mean_of_varied


def test_half_of_the_largest_is_large_enough() -> None:
    # columns are series: the largest has 10, 3 and no units
    n_units = np.array([[10, 3, 0], [5, 1, 0], [4, 2, 0]])
    assert is_large_enough(n_units).tolist() == [[True, True, False], [True, False, False], [False, True, False]]


@pytest.mark.parametrize(
    ("n_units", "is_degenerate", "counted"),
    [
        ([10, 10], [False, False], [True, True]),
        ([10, 10], [True, False], [False, True]),
        ([10, 10], [True, True], [True, True]),
        ([10, 4], [False, False], [True, False]),
        ([10, 4], [True, False], [True, False]),  # the few units that vary do not speak for the ten that do not
        ([0, 0], [False, False], [False, False]),
    ],
)
def test_degenerate_and_small_replicates_do_not_count(
    n_units: list[int], is_degenerate: list[bool], counted: list[bool]
) -> None:
    assert counted_replicates(np.array(n_units), np.array(is_degenerate)).tolist() == counted


def test_the_mean_is_over_what_varies() -> None:
    figures = np.array([[0.5, 1.0, 0.4, np.nan], [1.0, 1.0, np.nan, np.nan]])
    is_degenerate = np.array([[False, True, False, False], [True, True, False, False]])
    assert mean_of_varied(figures, is_degenerate) == pytest.approx([0.5, 1.0, 0.4, np.nan], nan_ok=True)
