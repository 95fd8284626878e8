"""Rectified accuracies against worked examples, the published formula, and worlds where a judge's errors go with something."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs.templates.prediction_powered import LEAST_RULED, RectifiedAccuracy, rectified_accuracy
from promptaudit.udfs.templates.spread import spread
from tests.udfs.templates.ruled_worlds import SPREAD, ErrorsGoWith, Table, accuracies_of, ruled_world


def rectified(judged: Table, right: Table, weight: Table, rulable: Table | None = None) -> RectifiedAccuracy:
    """Of tables of samples x templates, or of the samples of one template."""
    sample, variant = np.indices((len(judged), judged.size // len(judged))).reshape(2, -1)
    cells = judged, np.ones(judged.shape) if rulable is None else rulable, weight, weight * judged, weight * right
    return rectified_accuracy(sample, variant, *(np.asarray(cell, float).ravel() for cell in cells), 7, 100)


def test_by_hand() -> None:
    # of 20 answers people ruled on 10 and passed 6, of which the judge passes 5, and 1 of the other four; it passes 6 of the rest
    judged = np.repeat([1.0, 0, 1, 0, 1, 0], [5, 1, 1, 3, 6, 4])
    right = np.repeat([1.0, 0], [6, 14])
    weight = np.repeat([2.0, 0], [10, 10])
    got = rectified(judged, right, weight)
    assert (got.n_samples_ruled, got.accuracy) == (10, pytest.approx(0.6))
    # without a ruled answer people's mean moves by d / 9 and the judge's on all less on these by d (1/9 - 1/19), without another
    # the second by d / 19; products of deviations: 10 (.5 - .36) of people and judge, 10 (.24) of the judge on either half
    moves = 1 / 9 - 1 / 19
    assert got.power == pytest.approx((1.4 * moves / 9) / (2.4 * (moves**2 + 1 / 19**2)))
    # where it passes all of the others but one, it passes .75 of all and .6 of these
    judged[10:] = 1
    judged[-1] = 0
    more = rectified(judged, right, weight)
    assert more.accuracy == pytest.approx(0.6 + more.power * (0.75 - 0.6))
    assert 0 < more.accuracy_low < more.accuracy < more.accuracy_high <= 1
    assert math.isnan(more.std)


def test_it_is_the_published_estimate() -> None:
    rng = np.random.default_rng(1)
    n, n_all = 150, 1000
    right = (rng.random(n_all) < 0.6).astype(float)
    judged = np.where(rng.random(n_all) < 0.85, right, 1 - right)
    is_ruled = np.arange(n_all) < n
    got = rectified(judged, right, is_ruled * (n_all / n))
    # PPI++ has the other answers on its own side: equation 3, the power of section 6 and the variance of its theorem 1
    y, f, others = right[is_ruled], judged[is_ruled], judged[~is_ruled]
    power = np.cov(y, f)[0, 1] / ((1 + n / len(others)) * judged.var(ddof=1))
    accuracy = y.mean() + power * (others.mean() - f.mean())
    variance = power**2 * others.var(ddof=1) / len(others) + (y - power * f).var(ddof=1) / n
    assert got.accuracy == pytest.approx(accuracy, abs=0.002)
    assert got.accuracy_high - got.accuracy_low == pytest.approx(2 * 1.976 * math.sqrt(variance), rel=0.02)


def test_all_ruled_on_is_what_people_say() -> None:
    rng = np.random.default_rng(2)
    right = (rng.random((50, 4)) < 0.7).astype(float)
    judged = (rng.random((50, 4)) < 0.5).astype(float)
    got = rectified(judged, right, np.ones((50, 4)))
    assert got.accuracy == pytest.approx(right.mean())
    own = right.mean(axis=1)
    # the few samples that the judge passes and people do not leave room for half of one more
    sampling = 2 * 2.0096 * own.std(ddof=1) / math.sqrt(50)
    assert sampling < got.accuracy_high - got.accuracy_low < 1.1 * sampling
    sample, variant = np.indices(right.shape).reshape(2, -1)
    # the noise of the spread is then that of samples alone: the residual mean square over the samples
    assert got.std == pytest.approx(spread(sample, variant, right.ravel(), 7, 100).std_corrected)


def test_weights_undo_how_rulings_were_drawn() -> None:
    # 100 answers; the judge passes 60, all right, and fails 40, of which 10 are right. People ruled on 30 of either
    judged, right = np.repeat([1.0, 0], [60, 40]), np.repeat([1.0, 0], [70, 30])
    weight = np.zeros(100)
    weight[:30], weight[60:68], weight[70:92] = 60 / 30, 40 / 30, 40 / 30
    got = rectified(judged, right, weight)
    # 8 of 30 that it fails are right: .6 + .4 * 8/30
    assert got.accuracy == pytest.approx(0.6 + 0.4 * 8 / 30)
    uneven = rectified(judged, right, (weight > 0).astype(float))
    assert uneven.accuracy == pytest.approx(38 / 60 + uneven.power * (0.6 - 0.5))


def test_a_blank_answer_is_wrong_for_certain() -> None:
    # half of the answers are blank; of the others people ruled on all and passed 15 of 20
    judged, right, rulable = (np.repeat(values, [15, 5, 20]) for values in ([1.0, 0, 0], [1.0, 0, 0], [1.0, 1, 0]))
    got = rectified(judged, right, rulable, rulable)
    assert got.accuracy == pytest.approx(15 / 40)
    assert got.n_samples_ruled == 20


def test_people_and_judge_of_one_mind_leave_room_for_an_error() -> None:
    judged = right = np.repeat([1.0, 0], [120, 80])
    widths = []
    for n in (20, 80, 200):
        weight = np.zeros(200)
        weight[np.random.default_rng(3).permutation(200)[:n]] = 200 / n
        got = rectified(judged, right, weight)
        assert got.accuracy == pytest.approx(0.6)
        assert got.power == 1
        widths.append(got.accuracy_high - got.accuracy_low)
    sampling = 2 * 1.972 * math.sqrt(0.6 * 0.4 / 199)
    # half an error more in 20.5 moves the figure by .024 either way, and its own error is larger
    assert widths[0] > widths[1] > widths[2] >= sampling - 1e-3
    assert widths[0] > sampling + 0.08
    perfect = rectified(np.ones(50), np.ones(50), np.repeat([2.0, 0], 25))
    assert perfect.accuracy == perfect.accuracy_high == 1
    assert 0.8 < perfect.accuracy_low < 0.95


@pytest.mark.parametrize("n_ruled", [20, 40, 60])
@pytest.mark.parametrize(("passes_wrong", "fails_right"), [(0.4, 0.02), (0.02, 0.25)], ids=["lenient", "harsh"])
@pytest.mark.parametrize("accuracy", [0.6, 0.86, 0.9])
def test_the_lower_bound_of_a_sheet(accuracy: float, passes_wrong: float, fails_right: float, n_ruled: int) -> None:
    rng = np.random.default_rng([13, n_ruled])
    misses = []
    for _ in range(60):
        right = (rng.random(200) < accuracy).astype(float)
        judged = (rng.random(200) < np.where(right > 0, 1 - fails_right, passes_wrong)).astype(float)
        weight = np.zeros(200)
        for verdict in (1, 0):  # a quarter of the rows each, and the rest by how many answers there are
            (own,) = np.nonzero(judged == verdict)
            kept = rng.permutation(own)[: round(n_ruled * (0.25 + 0.5 * len(own) / 200))]
            weight[kept] = len(own) / len(kept)
        misses.append(rectified(judged, right, weight).accuracy_low > accuracy)
    assert np.mean(misses) <= 0.1  # .05 as measured at full size, and two standard errors of 60 worlds


def test_too_few_rulings_say_nothing() -> None:
    judged = np.repeat([1.0, 0], [60, 40])
    weight = np.zeros(100)
    weight[: LEAST_RULED - 1] = 1
    few = rectified(judged, judged, weight)
    assert few.n_samples_ruled == LEAST_RULED - 1
    assert np.isnan(few[:-1]).all()
    weight[LEAST_RULED] = 1
    assert rectified(judged, judged, weight).accuracy == pytest.approx(0.6)
    none = np.empty(0, np.int64)
    assert np.isnan(rectified_accuracy(none, none, *(np.empty(0),) * 5, 7, 10)[:-1]).all()
    # rulings under one template of two say nothing of the spread
    table = np.stack([judged, judged], axis=1)
    one = rectified(table, table, np.stack([np.ones(100), np.zeros(100)], axis=1))
    assert one.accuracy == pytest.approx(0.6)
    assert math.isnan(one.std)


def test_order_and_codes_are_nothing() -> None:
    world = ruled_world(1, "format", accuracies_of(0), 0, 40)
    columns = world.columns()
    turned: NDArray[np.int64] = np.random.default_rng(4).permutation(len(columns[0]))
    again = [column[turned] for column in columns]
    again[1] = 1000 - 3 * again[1]
    assert rectified_accuracy(*again, 7, 0)[:5] == pytest.approx(rectified_accuracy(*columns, 7, 0)[:5])  # type: ignore[arg-type]


@pytest.mark.parametrize("true", [0, SPREAD])
@pytest.mark.parametrize("errors", ["format", "length", "template"])
def test_errors_of_a_judge_that_go_with_something(errors: ErrorsGoWith, true: float) -> None:
    assert errors in get_args(ErrorsGoWith)
    accuracies = accuracies_of(true)
    worlds = [ruled_world(seed, errors, accuracies, true, 83, by_sheet=seed % 2 == 0) for seed in range(10)]
    got = [rectified_accuracy(*world.columns(), 7, 100) for world in worlds]
    templates = [
        (rectified_accuracy(*world.columns(template), 7, 0), accuracies[template])
        for world in worlds
        for template in range(0, 12, 2)
    ]
    assert np.mean([each.accuracy for each in got]) == pytest.approx(accuracies.mean(), abs=0.015)
    assert np.sqrt(np.mean(np.square([each.std for each in got]))) == pytest.approx(true, abs=0.025)
    assert np.mean([each.std_low <= accuracies.std(ddof=1) <= each.std_high for each in got]) >= 0.8
    # 60 intervals: .97 of them hold the truth, as measured at full size
    assert np.mean([each.accuracy_low <= truth <= each.accuracy_high for each, truth in templates]) >= 0.9
    # the judge's own verdicts are off by more
    assert abs(np.mean([world.judged.mean() for world in worlds]) - accuracies.mean()) > 0.01
