"""The same cells on other nights: by hand, and where nothing but chance or a cache is at work."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.nights.churn_test import churn_test
from promptaudit.udfs.nights.window_test import Nights

LABELS = 3


def apart_and_within(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The disagreement across and within nights of labels of shape (n_nights, n_samples, n_cells, n_repetitions)."""
    counts = (labels[..., None] == np.arange(LABELS)).sum(axis=3)
    n = labels.shape[3]
    shares = counts / n
    apart = 1 - np.einsum("tiqc,siqc->tsi", shares, shares) / labels.shape[2]
    within = (
        (1 - (counts * (counts - 1)).sum(axis=-1) / (n * (n - 1))).mean(axis=-1)
        if n > 1
        else np.full(apart.shape[1:], np.nan)
    )
    return apart, within


def nights(n: int) -> Nights:
    """Nights in a row, tonight last."""
    return Nights(np.arange(n - 1, -1, -1), np.arange(n) < n - 1, np.zeros(n, bool))


def test_a_swap_by_hand() -> None:
    # every cell says 0 twice a night, tonight 1 twice: across 1, before and within 0
    labels = np.zeros((4, 12, 2, 2), int)
    labels[3] = 1
    found = churn_test(*apart_and_within(labels), nights(4), 2)
    assert (found.difference, found.span) == (1, 1)
    assert found.p_value < 1e-9


def test_against_one_pinned_night_the_normal_ones_say_how_nights_differ() -> None:
    labels = np.random.default_rng(6).integers(0, LABELS, (6, 40, 3, 2))
    every = nights(6)
    found = churn_test(*apart_and_within(labels), every._replace(is_pinned=every.age == 4), 3)
    assert found.n_nights == 1
    assert abs(found.difference) < 0.1
    labels[5] = (labels[1] + 1) % LABELS
    assert churn_test(*apart_and_within(labels), every._replace(is_pinned=every.age == 4), 3).p_value < 1e-9


def test_nothing_moved_is_no_churn() -> None:
    found = churn_test(*apart_and_within(np.zeros((4, 12, 2, 2), int)), nights(4), 2)
    assert (found.difference, found.p_value) == (0, 1)


@pytest.mark.parametrize("is_cached", [False, True])
def test_nights_that_are_alike_have_none_on_average(is_cached: bool) -> None:
    rng = np.random.default_rng(3)
    figures = []
    for _ in range(60):
        labels = rng.integers(0, LABELS, (6, 20, 3, 1 if is_cached else 2))
        figures.append(
            churn_test(*apart_and_within(np.repeat(labels, 2, axis=3) if is_cached else labels), nights(6), 3)
        )
    assert abs(np.mean([found.difference_tonight for found in figures])) < 0.02
    assert abs(np.mean([found.difference_two for found in figures])) < 0.02
    assert np.mean([found.p_value <= 0.05 for found in figures]) <= 0.1


def test_without_repetitions_one_night_is_not_tested_and_two_are() -> None:
    labels = np.random.default_rng(4).integers(0, LABELS, (6, 20, 3, 1))
    found = churn_test(*apart_and_within(labels), nights(6), 3)
    assert np.isnan(found.difference_tonight)
    assert found.span in (2, 4)


def test_less_disagreement_than_before_is_no_churn() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, LABELS, (5, 30, 2, 2))
    apart, within = apart_and_within(labels)
    found = churn_test(apart, within + 0.5 * (np.arange(5) == 4)[:, None], nights(5), 2)
    assert found.difference_tonight < 0
    assert found.p_value_tonight > 0.5
