"""The same cells on other nights: by hand, and where nothing but chance or kept answers are at work."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.nights.churn_test import churn_test
from promptaudit.udfs.nights.window_test import UNTESTED, Nights

LABELS = 3


def apart_of(labels: np.ndarray) -> np.ndarray:
    """The disagreement across nights of labels of shape (n_nights, n_samples, n_cells, n_repetitions)."""
    shares = (labels[..., None] == np.arange(LABELS)).mean(axis=3)
    return 1 - np.einsum("tiqc,siqc->tsi", shares, shares) / labels.shape[2]


def kept(rng: np.random.Generator, n_nights: int, share: float, n_samples: int = 40) -> np.ndarray:
    """Labels of which each night keeps a share of the night before."""
    labels = [rng.integers(0, LABELS, (n_samples, 3, 1))]
    for _ in range(n_nights - 1):
        is_kept = rng.random(labels[-1].shape) < share
        labels.append(np.where(is_kept, labels[-1], rng.integers(0, LABELS, labels[-1].shape)))
    return np.stack(labels)


def nights(n: int) -> Nights:
    """Nights in a row, tonight last."""
    return Nights(np.arange(n - 1, -1, -1), np.arange(n) < n - 1, np.zeros(n, bool))


def test_a_swap_by_hand() -> None:
    # every cell says 0 on four nights and 1 on the last two: each is 1 away from every normal night, and these 0 from each other
    labels = np.zeros((6, 12, 2, 2), int)
    labels[4:] = 1
    found = churn_test(apart_of(labels), nights(6), 2, 0.02)
    assert (found.difference, found.span, found.difference_two) == (1, 2, 1)
    # twelve samples carry it, each in one of the 15 ways to choose two nights of six
    assert found.p_value < 1e-9


def test_one_night_alone_is_no_change_of_answers() -> None:
    labels = np.zeros((6, 12, 2, 2), int)
    labels[5] = 1
    found = churn_test(apart_of(labels), nights(6), 2, 0.02)
    assert found.difference_tonight == pytest.approx(1)
    assert found.p_value == 1


def test_good_nights_after_a_change_say_that_it_is_over() -> None:
    # five normal nights, two of another model that are left out, a good night and tonight, which are as the normal ones
    age = np.array([8, 7, 6, 5, 4, 1, 0])
    known = Nights(age, age > 3, np.zeros(7, bool))
    found = churn_test(apart_of(np.zeros((7, 12, 2, 2), int)), known, 2, 0.02)
    assert np.isnan(found.p_value)
    assert (found.difference_tonight, found.difference_two) == (0, 0)
    assert found.error_two > 0


def test_nothing_moved_is_no_churn() -> None:
    found = churn_test(apart_of(np.zeros((6, 12, 2, 2), int)), nights(6), 2, 0.02)
    assert (found.difference, found.p_value) == (0, 1)
    few = churn_test(apart_of(np.zeros((3, 12, 2, 2), int)), nights(3), 2, 0.02)
    assert few == pytest.approx(UNTESTED, nan_ok=True)
    assert np.isnan(churn_test(apart_of(np.zeros((4, 12, 2, 2), int)), nights(4), 2, 0.02).p_value)


@pytest.mark.parametrize("share", [0.0, 0.8, 0.95])
def test_nights_that_are_alike_have_none_on_average_though_answers_are_kept(share: float) -> None:
    rng = np.random.default_rng(3)
    figures = [churn_test(apart_of(kept(rng, 12, share)), nights(12), 3, 0.0) for _ in range(60)]
    assert abs(np.mean([found.difference_tonight for found in figures])) < 0.02
    assert abs(np.mean([found.difference_two for found in figures])) < 0.02
    assert np.mean([found.p_value <= 0.05 for found in figures]) <= 0.1


def test_answers_that_are_all_drawn_anew_are_told_on_the_second_night() -> None:
    rng = np.random.default_rng(4)
    labels = kept(rng, 14, 0.95)
    labels[12:] = kept(rng, 2, 0.95)
    first = churn_test(apart_of(labels[:13]), nights(13), 3, 0.02)
    assert first.difference_tonight > 0.2
    assert first.p_value > 0.05
    assert churn_test(apart_of(labels), nights(14), 3, 0.02).p_value < 1e-3


def test_less_disagreement_than_before_is_no_churn() -> None:
    labels = np.random.default_rng(5).integers(0, LABELS, (7, 30, 2, 2))
    apart = apart_of(labels)
    apart[5:], apart[:, 5:] = apart[5:] - 0.5, apart[:, 5:] - 0.5
    assert churn_test(apart, nights(7), 2, 0.02).p_value == 1
