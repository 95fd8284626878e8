"""Accuracy by wording in full and incomplete grids, and the quantiles over wordings."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from promptaudit.udfs.measures.wording_accuracies import (
    WordingQuantiles,
    gap_to_others,
    wording_accuracies,
    wording_quantiles,
)
from tests.udfs.designs.worlds import World, dealt

# questions x wordings; accuracies .75, .75 and .25
QUESTIONS = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]], float)
CELLS = np.indices((4, 3)).reshape(2, -1)


def test_full_grid_by_hand() -> None:
    found = wording_accuracies(*CELLS, QUESTIONS.ravel())
    assert found.accuracy.tolist() == [0.75, 0.75, 0.25]
    # noise 2/9 / 4, wordings 1/12 - 2/36 = 1/36: a third of the variance 1/12 is of wordings
    assert found.shrunk == pytest.approx(7 / 12 + np.array([1 / 6, 1 / 6, -1 / 3]) / 3)
    median = 7 / 12 + 1 / 6 / np.sqrt(3)
    assert wording_quantiles(*CELLS, QUESTIONS.ravel()) == pytest.approx((np.nan, median, np.nan), nan_ok=True)
    # the same wordings four times over: 12 tell of their ends, which deviate by sqrt(r) of what they deviate
    twelve = wording_quantiles(*np.indices((4, 12)).reshape(2, -1), np.tile(QUESTIONS, 4).ravel())
    assert twelve.worst_5 < twelve.median == twelve.best_5


def test_a_wording_asked_on_easy_questions_alone_is_not_taken_for_a_good_one() -> None:
    question, wording = np.indices((12, 4)).reshape(2, -1)
    value = question / 20 + wording / 20
    kept = ((question + wording) % 3 != 0) & ((wording < 3) | (question > 5))
    found = wording_accuracies(question[kept], wording[kept], value[kept])
    full = wording_accuracies(question, wording, value)
    assert found.accuracy == pytest.approx(full.accuracy)
    assert found.shrunk == pytest.approx(full.accuracy)  # nothing is left over, so nothing is shrunk


def test_wordings_that_differ_by_luck_alone_all_get_the_mean() -> None:
    value = np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]], float)
    cells = np.indices((5, 2)).reshape(2, -1)
    found = wording_accuracies(*cells, value.ravel())
    assert found.accuracy == pytest.approx([0.6, 0.4])
    assert found.shrunk == pytest.approx([0.5, 0.5])
    twelve = np.indices((5, 12)).reshape(2, -1)
    assert wording_quantiles(*twelve, np.tile(value, 6).ravel()) == pytest.approx([0.5, 0.5, 0.5])


def test_shrunk_accuracies_err_less_than_the_fit_and_quantiles_are_unbiased() -> None:
    world, rng = World(wordings=0.06), np.random.default_rng(7)
    sample, wording = dealt(100, 30, 6)
    errors, shrunk_errors, worst, worst_shrunk, worst_fitted = [], [], [], [], []
    for _ in range(400):
        p = world.mean + rng.uniform(-0.3, 0.3, (100, 1)) + (effect := rng.normal(0, world.wordings, 30))
        value = (rng.random((100, 30)) < p).astype(float)[sample, wording]
        found = wording_accuracies(sample, wording, value)
        truth = world.mean + effect
        errors.append(np.square(found.accuracy - truth).mean())
        shrunk_errors.append(np.square(found.shrunk - truth).mean())
        worst.append(wording_quantiles(sample, wording, value).worst_5)
        worst_fitted.append(np.quantile(found.accuracy, 0.05))
        worst_shrunk.append(np.quantile(found.shrunk, 0.05))
    truth = world.mean - 1.645 * world.wordings
    assert np.mean(shrunk_errors) < 0.4 * np.mean(errors)
    assert np.mean(worst) == pytest.approx(truth, abs=0.02)
    assert np.mean(worst_shrunk) > truth + 0.03
    assert np.mean(worst_fitted) < truth - 0.06


def test_undefined_where_wordings_cannot_be_told_from_samples_or_noise() -> None:
    nothing = WordingQuantiles(np.nan, np.nan, np.nan)
    half_each = np.arange(6), np.arange(6) % 2, np.array([1.0, 0, 1, 0, 0, 0])  # no sample has two wordings
    one_wording = np.arange(3), np.zeros(3, np.int64), np.array([1.0, 0, 1])
    one_sample = np.zeros(3, np.int64), np.arange(3), np.array([1.0, 0, 1])
    for table in (half_each, one_wording, one_sample):
        found = wording_accuracies(*table)
        assert not np.isnan(found.accuracy).any()
        assert np.isnan(found.shrunk).all()
        assert wording_quantiles(*table) == pytest.approx(nothing, nan_ok=True)
    empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    assert [len(each) for each in wording_accuracies(*empty)] == [0, 0, 0]
    assert wording_quantiles(*empty) == pytest.approx(nothing, nan_ok=True)


def test_an_accuracy_stays_within_0_and_1() -> None:
    # the fit has 1/3, 1/3 and 4/3: the only samples under wording 2 were right, and do worse under the others
    cells = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 0, 2])
    found = wording_accuracies(*cells, np.array([1.0, 1, 0, 1, 0, 1]))
    assert found.accuracy == pytest.approx([1 / 3, 1 / 3, 1])


def test_the_gap_of_the_least_accurate_wording_by_hand() -> None:
    known = wording_accuracies(*CELLS, QUESTIONS.ravel())
    found = gap_to_others(known.accuracy.tolist(), known.shrunk.tolist(), 4)
    # .25 against .75 and a third of that; noise 1/18 of each, 1/12 of the gap; half a sample more moves .5 to 1/3 and 5/9
    assert found.gap == pytest.approx(1 / 6)
    assert found.low == pytest.approx(1 / 3 - 2.39398 * np.sqrt(1 / 12 + 0.5 * (4 / 3 / 4) ** 2), abs=1e-5)
    assert found.high == 1
    # without a gap the added half is all there is: -1/201 and the root of half of (200/201)^2 / 100^2
    low = -1 / 201 - 2.39398 * np.sqrt(0.5) * 2 / 201
    assert gap_to_others([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], 100) == pytest.approx((0, low, -low))
    # one failure of one wording in 60 samples is nothing to tell, twenty are
    for n_wrong, is_found in ((1, False), (20, True)):
        right = np.ones((60, 12))
        right[:n_wrong, 5] = 0
        known = wording_accuracies(*np.indices(right.shape).reshape(2, -1), right.ravel())
        assert (gap_to_others(known.accuracy.tolist(), known.shrunk.tolist(), 60).low > 0) == is_found


@pytest.mark.parametrize(("spread", "n_found"), [(0, range(4)), (0.6, range(25, 75))])
def test_the_gap_holds_the_truth_and_none_is_told_where_wordings_are_equal(spread: float, n_found: range) -> None:
    rng = np.random.default_rng(11)
    effects = spread * np.linspace(-1.6, 1.6, 12)

    def chances(n: int) -> NDArray[np.float64]:
        return np.asarray(expit(1.5 + 2 * rng.standard_normal((n, 1)) + effects), np.float64)

    truth = chances(100_000).mean(axis=0)
    lows, is_held = [], []
    for _ in range(100):
        right = (rng.random((60, 12)) < chances(60)).astype(float)
        known = wording_accuracies(*np.indices(right.shape).reshape(2, -1), right.ravel())
        gap = gap_to_others(known.accuracy.tolist(), known.shrunk.tolist(), 60)
        lows.append(gap.low)
        is_held.append(gap.low <= 12 / 11 * (truth.mean() - truth[known.accuracy.argmin()]) <= gap.high)
    assert np.sum(np.array(lows) > 0) in n_found
    assert np.mean(is_held) >= 0.95
