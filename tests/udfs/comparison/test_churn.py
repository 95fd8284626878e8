"""Label churn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.comparison.churn import label_churn


def asked(base: list[list[int]], candidate: list[list[int]]) -> NDArray[np.int16]:
    """One ask: samples x repetitions of both runs."""
    return np.array([base, candidate], np.int16).transpose(0, 2, 1)[:, None]


def test_three_samples_by_hand() -> None:
    # A A to B B: across 1, within 0. A A to A B: across .5, within (0 + 1)/2. A B to A B: across .5, within (1 + 1)/2
    churn = label_churn(asked([[0, 0], [0, 0], [0, 1]], [[1, 1], [0, 1], [0, 1]]), 3)
    assert churn.across == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert churn.within == pytest.approx((0 + 0.5 + 1) / 3)
    assert churn.churn == pytest.approx((1 + 0 - 0.5) / 3)
    # 1, 0 and -.5 have mean 1/6 and deviation sqrt(((5/6)^2 + (1/6)^2 + (2/3)^2) / 2)
    error = np.sqrt((25 + 1 + 16) / 36 / 2 / 3)
    t = 1 / 6 / error
    # the t distribution of 2 degrees has the tail (1 - t / sqrt(2 + t^2)) / 2 and 2.5 % above 4.302653
    assert churn.p_value == pytest.approx((1 - t / np.sqrt(2 + t**2)) / 2)
    assert (churn.low, churn.high) == pytest.approx((1 / 6 - 4.302653 * error, 1 / 6 + 4.302653 * error))


def test_three_repetitions_are_unbiased() -> None:
    # A A B: 1 - 2/6 = 2/3 within; A A A: 0. Across: 1 - 2/3
    churn = label_churn(asked([[0, 0, 1], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]), 2)
    assert churn.within == pytest.approx((2 / 3 + 0) / 2 / 2)
    assert churn.across == pytest.approx((1 / 3) / 2)


def test_without_any_disagreement_nothing_churned() -> None:
    churn = label_churn(asked([[0, 0], [1, 1]], [[0, 0], [1, 1]]), 3)
    assert (churn.churn, churn.p_value) == (0, 1)


def test_where_every_sample_churned_alike_the_sign_test_stands() -> None:
    churn = label_churn(asked([[0, 0]] * 7, [[1, 1]] * 7), 3)
    assert (churn.churn, churn.p_value) == (1, 0.5**7)


def test_asked_once_noise_is_unknown_unless_nothing_moved() -> None:
    moved = label_churn(asked([[0], [1], [1]], [[0], [1], [0]]), 3)
    assert moved.across == pytest.approx(1 / 3)
    assert np.isnan([moved.within, moved.churn, moved.p_value]).all()
    still = label_churn(asked([[0], [1], [1]], [[0], [1], [1]]), 3)
    assert (still.churn, still.p_value) == (0, 1)


def test_cells_asked_once_stand_back_where_others_are_asked_twice() -> None:
    labels = np.full((2, 2, 2, 2), -1, np.int16)
    labels[:, 0] = 0  # the original, asked twice: nothing moved
    labels[0, 1, 0], labels[1, 1, 0] = 0, 1  # another wording, asked once: everything did
    churn = label_churn(labels, 3)
    assert (churn.across, churn.churn, churn.p_value) == (0, 0, 1)


def test_one_sample_alone_tests_nothing() -> None:
    churn = label_churn(asked([[0, 0]], [[1, 1]]), 3)
    assert churn.churn == 1
    assert np.isnan([churn.p_value, churn.low, churn.standard_error]).all()
