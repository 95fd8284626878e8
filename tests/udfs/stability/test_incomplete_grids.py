"""Prompt stability where each sample has some of the annotators: against leave-out loops, and how often intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from promptaudit.udfs.stability.cells import variance_of_cells
from promptaudit.udfs.stability.krippendorff import LEVELS, Level
from promptaudit.udfs.stability.ratings import MISSING, Ratings
from tests.udfs.designs.worlds import dealt
from tests.udfs.stability.test_prompt_stability import plain_alpha, stability

Codes = NDArray[np.int64]
NUMBERS = np.array([0.0, 1.0, 2.5, 7.0])


def asked(codes: Codes, q: int, seed: int = 0) -> Codes:
    """The codes of the q annotators of each unit, others missing."""
    unit, annotator = dealt(codes.shape[1], codes.shape[0], q, seed)
    table = np.full(codes.shape, MISSING)
    table[annotator, unit] = codes[annotator, unit]
    return table


def noisy(seed: int, n_annotators: int, n_units: int) -> Codes:
    rng = np.random.default_rng(seed)
    is_noise = rng.random((n_annotators, n_units)) < rng.uniform(0.1, 0.5, (n_annotators, 1))
    return np.where(is_noise, rng.integers(0, 4, (n_annotators, n_units)), rng.integers(0, 4, n_units))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("size", [1, 2])
def test_variance_of_cells_equals_leaving_each_out(level: Level, q: int, size: int) -> None:
    codes, families = asked(noisy(4, 6, 50), q), np.arange(6) // size
    moved = []
    for unit in range(codes.shape[1]):
        for family in np.unique(families[codes[:, unit] != MISSING]):
            left = codes.copy()
            left[families == family, unit] = MISSING
            moved.append(plain_alpha(left, level) - plain_alpha(codes, level))
    expected = float(np.square(moved).sum())
    assert variance_of_cells([Ratings(codes, NUMBERS, level)], families) == pytest.approx(expected, rel=0.05)


def test_a_grid_that_is_full_but_for_missing_labels_has_none() -> None:
    codes = noisy(1, 6, 40)
    codes[np.random.default_rng(0).random(codes.shape) < 0.2] = MISSING
    assert variance_of_cells([Ratings(codes, NUMBERS, "nominal")], np.arange(6)) == 0
    codes[3] = MISSING  # an annotator whose labels are all filtered away is no part of a design
    assert variance_of_cells([Ratings(codes, NUMBERS, "nominal")], np.arange(6)) == 0
    assert variance_of_cells([Ratings(asked(codes, 3), NUMBERS, "nominal")], np.arange(6)) > 0


def test_labels_that_both_jackknives_hold_count_once() -> None:
    codes = asked(noisy(5, 6, 60), 3)
    row, alpha = stability(codes)[-1], plain_alpha(codes, "nominal")
    units = np.array([plain_alpha(np.delete(codes, u, axis=1), "nominal") for u in range(60)])
    annotators = np.array([plain_alpha(np.delete(codes, a, axis=0), "nominal") for a in range(6)])
    cells = variance_of_cells([Ratings(codes, NUMBERS, "nominal")], np.arange(6))
    variance = 59 * units.var() + max(0, 5 * annotators.var() - cells)
    margin = t.ppf(0.975, 5) * np.sqrt(variance) / (1 - alpha)
    assert row.pss_wordings_high == pytest.approx(1 - (1 - alpha) * np.exp(-margin))
    assert row.pss_low < row.pss < row.pss_high


@pytest.mark.parametrize(("n", "q", "low"), [(30, 6, 0.70), (100, 6, 0.91), (500, 6, 0.98), (100, 2, 0.85)])
def test_unanimous_answers_are_never_certain(n: int, q: int, low: float) -> None:
    """The added sample has q answers, half of them other: lower bounds a little below those of 30 (.74, .93, .98)."""
    codes = asked(np.tile(np.arange(n) % 2, (30, 1)), q)
    row = stability(codes)[-1]
    assert (row.pss, row.pss_high) == (1, 1)
    assert row.pss_low == pytest.approx(low, abs=0.01)
    assert row.pss_low < stability(np.tile(np.arange(n) % 2, (30, 1)))[-1].pss_low


@pytest.mark.parametrize("q", [3, 6])
def test_intervals_hold_other_samples_and_other_wordings(q: int) -> None:
    """60 samples under q of 12 wordings; 300 replicates gave .95 to .98."""
    rng, n, n_wordings = np.random.default_rng(6), 60, 12

    def labels(n_samples: int, effects: NDArray[np.float64]) -> Codes:
        logits = (
            3 * rng.normal(size=(n_samples, 3)) + 0.8 * effects[:, None] + rng.gumbel(size=(len(effects), n_samples, 3))
        )
        return np.asarray(logits.argmax(axis=2), np.int64)

    def alpha(codes: Codes) -> float:
        return stability(codes, is_all_alone=True)[-1].pss

    every = float(np.mean([alpha(labels(2000, rng.normal(size=(100, 3)))) for _ in range(3)]))
    of_these, of_all = [], []
    for replicate in range(60):
        codes = labels(2000, rng.normal(size=(n_wordings, 3)))
        row = stability(asked(codes[:, :n], q, replicate))[-1]
        of_these.append(row.pss_low <= alpha(codes) <= row.pss_high)
        of_all.append(row.pss_wordings_low <= every <= row.pss_wordings_high)
    assert np.mean(of_these) >= 0.87
    assert np.mean(of_all) >= 0.87
