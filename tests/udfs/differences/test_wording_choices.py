"""Which wording to ship: worlds whose truth is known, and a table by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import beta

from promptaudit.udfs.differences.wording_choices import WordingChoice, wording_choices

Table = NDArray[np.float64]


def choices(table: Table, original: int = 0) -> list[WordingChoice]:
    sample, variant = np.nonzero(~np.isnan(table))
    return wording_choices(sample, sample, variant, table[sample, variant], (variant == original).astype(np.int64), 1)


def chosen(table: Table, original: int = 0) -> WordingChoice:
    (found,) = (each for each in choices(table, original) if each.is_chosen)
    return found


def world(rng: np.random.Generator, n: int, q: int, spread: float, accuracy: float = 0.7) -> tuple[Table, Table]:
    """Right answers of n samples under q wordings, and how often each wording is right on all samples."""
    effects = rng.normal(0, spread, q)

    def chances(size: int, of: np.random.Generator) -> Table:
        return expit(of.normal(accuracy, 1.5, (size, 1)) + effects + of.normal(0, 0.5, (size, q)))

    truth = chances(10_000, np.random.default_rng(1)).mean(axis=0)
    return (rng.random((n, q)) < chances(n, rng)).astype(np.float64), truth


@pytest.mark.parametrize(
    ("n", "q", "spread", "least_named", "most_named"),
    [(100, 6, 0.0, 0.0, 0.06), (100, 6, 0.6, 0.2, 1.0), (60, 12, 0.0, 0.0, 0.05), (20, 12, 0.0, 0.0, 0.05)],
)
def test_a_promised_gain_holds_and_nothing_is_named_of_nothing(
    n: int, q: int, spread: float, least_named: float, most_named: float
) -> None:
    rng, n_worlds = np.random.default_rng(4), 100
    held, named, errors = [], [], []
    for _ in range(n_worlds):
        table, truth = world(rng, n, q, spread)
        best = chosen(table)
        gain = truth[best.variant] - truth[0]
        held.append(best.gain_low <= gain <= best.gain_high)
        named.append(best.gain_low > 0 and best.p_value <= 0.05)
        errors.append(best.gain - gain)
    assert np.mean(held) >= 0.95
    assert least_named <= np.mean(named) <= most_named
    assert abs(np.mean(errors)) <= 0.02  # the largest of six means of 100 is .05 too large where all are equal


def test_a_wording_that_is_better_by_a_quarter_is_found_on_40_samples() -> None:
    tables = np.random.default_rng(7).random((100, 40, 6)) < [0.6, 0.85, 0.6, 0.6, 0.6, 0.6]
    best = [chosen(table.astype(np.float64)) for table in tables]
    assert sum(each.variant == 1 and each.p_value <= 0.05 for each in best) >= 52  # so many were with normal deviations


def test_where_the_original_is_right_most_often_another_is_better_by_no_more_than_is_said() -> None:
    rng, is_held, most = np.random.default_rng(6), [], []
    while len(is_held) < 50:
        table, truth = world(rng, 60, 6, 0.3)
        best = chosen(table)
        if best.variant == 0:
            is_held.append(truth.max() - truth[0] <= best.gain_high)
            most.append(best.gain_high)
    assert np.mean(is_held) >= 0.95
    assert 0.05 < np.mean(most) < 0.25  # of 60 samples


def test_the_gain_is_measured_on_samples_that_did_not_choose() -> None:
    """On the first 40 of 80 samples wording 1 is right, on the others wording 2: whichever part chooses, the rest corrects."""
    table = np.zeros((80, 3))
    table[:40, 1], table[40:, 2] = 1, 1
    best = chosen(table)
    assert best.accuracy == 0.5
    assert best.gain < 0.5
    assert best.gain_low <= 0.5 <= best.gain_high


def test_equal_wordings_leave_the_original() -> None:
    rows = choices(np.tile(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), (15, 1)), original=2)
    assert [row.is_chosen for row in rows] == [False, False, True]
    assert [row.chance_best for row in rows] == [pytest.approx(1 / 3)] * 3
    assert [row.expected_loss for row in rows] == [0, 0, 0]
    assert rows[2].gain == 0
    assert all(0 < row.low < 0.5 < row.high < 1 for row in rows)


def test_cells_that_were_not_asked_do_not_make_a_wording_better() -> None:
    """Wording 1 was asked of the easy half alone, where all are right."""
    table = np.zeros((60, 3))
    table[:30] = 1
    table[30:, 1] = np.nan
    rows = choices(table)
    assert [row.accuracy for row in rows] == [0.5, pytest.approx(0.5), 0.5]
    assert rows[0].is_chosen


@pytest.mark.parametrize(
    "table",
    [
        np.ones((19, 3)),
        np.ones((30, 1)),
        np.where(np.arange(30)[:, None] < 15, [1.0, np.nan], [np.nan, 1.0]),  # no sample has both
    ],
)
def test_too_little_to_choose_from(table: Table) -> None:
    assert choices(table) == []


def test_without_an_original_nothing_is_chosen() -> None:
    assert choices(np.ones((30, 3)), original=7) == []


def test_samples_of_one_document_tell_as_much_as_one() -> None:
    """Each document's four samples answer alike: its interval is that of the documents."""
    rng = np.random.default_rng(8)
    documents = (rng.random((40, 3)) < [0.4, 0.7, 0.5]).astype(np.float64)
    sample, variant = np.nonzero(np.ones((160, 3)))
    table = np.repeat(documents, 4, axis=0)
    rows = wording_choices(sample, sample // 4, variant, table[sample, variant], (variant == 0).astype(np.int64), 1)
    (alone,) = (row for row in choices(documents) if row.is_chosen)
    (together,) = (row for row in rows if row.is_chosen)
    apart = chosen(table)
    assert together.gain_high - together.gain_low == pytest.approx(alone.gain_high - alone.gain_low, rel=0.05)
    assert apart.gain_high - apart.gain_low < 0.6 * (alone.gain_high - alone.gain_low)
    assert together.p_value > apart.p_value


def test_of_twenty_right_answers_the_bounds_are_about_those_of_exact_ones() -> None:
    """Wordings that are all right on all samples are one figure; beside others each is bounded as one of so many."""
    (alike,) = {round(row.low, 9) for row in choices(np.ones((20, 10)))}
    assert alike == pytest.approx(beta.ppf(0.025, 20, 1), abs=0.005)
    others = np.ones((20, 10))
    others[np.arange(20), 1 + np.arange(20) % 9] = 0
    assert 0.6 < choices(others)[0].low < beta.ppf(0.05 / 10 / 2, 20, 1)


@pytest.mark.parametrize("accuracy", [0.7, 3.0])
def test_all_accuracies_lie_in_their_intervals(accuracy: float) -> None:
    rng, n_worlds = np.random.default_rng(5), 100
    held = 0
    for _ in range(n_worlds):
        table, truth = world(rng, 40, 6, 0.3, accuracy)
        rows = choices(table)
        held += all(row.low <= truth[row.variant] <= row.high for row in rows)
    assert held >= 0.92 * n_worlds


def test_equal_wordings_have_equal_chances_and_lose_nothing() -> None:
    """Each of twelve wordings is wrong on another eight of 480 half answers: their variance is nothing but rounding."""
    table = np.ones((40, 12))
    for variant in range(12):
        table[np.arange(0, 40, 5) if variant % 2 else np.arange(1, 40, 5), variant] = 0.5
    assert {(each.chance_best, each.expected_loss) for each in choices(table)} == {(1 / 12, 0.0)}


def test_a_wording_that_is_never_right_loses_one_at_most() -> None:
    table = np.ones((40, 10))
    table[:, 1] = 0
    table[:3, 0] = table[3:7, 2] = 0.5
    found = choices(table)
    assert 0.99 < found[1].expected_loss <= 1
    assert found[3].expected_loss < 0.01


def test_wordings_of_the_same_answers_are_best_together() -> None:
    right = np.random.default_rng(3).random((40, 1)) < [[0.5, 0.7]]
    rows = choices(right[:, [0, 1, 1, 1]].astype(float))
    assert [row.chance_best for row in rows[1:]] == [pytest.approx((1 - rows[0].chance_best) / 3)] * 3


def test_the_order_of_the_answers_changes_no_digit() -> None:
    rng = np.random.default_rng(3)
    table = np.repeat(world(rng, 40, 4, 0.4)[0], 3, axis=1)  # each wording is answered like two others
    sample, variant = np.nonzero(~np.isnan(table))
    of_cells = (sample, sample, variant, table[sample, variant], (variant == 0).astype(np.int64))
    orders = [np.arange(len(sample)), *(rng.permutation(len(sample)) for _ in range(5))]
    assert len({str(wording_choices(*(each[order] for each in of_cells), 1)) for order in orders}) == 1
